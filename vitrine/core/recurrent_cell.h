#pragma once

namespace vitrine {

/// The kinds of recurrent layers: a plain one with tanh, long short-term memory, gated recurrent
/// units.
enum class Cell { Rnn, Lstm, Gru };

}  // namespace vitrine
