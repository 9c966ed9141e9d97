#pragma once

#include <string>

#include "vitrine/core/precision.h"

namespace vitrine {

class Model;

/// Has a trained image classifier on the CPU compute the products of its blocks in `precision` from
/// now on; nothing happens for fp32. Their weights are converted once, in place: it cannot be
/// trained or saved any more. What is outside of the blocks (patches, head), norms, softmax and the
/// products of attention stay in fp32. Throws, with the model's `name`, where there are no such
/// blocks.
void set_precision(Model& model, Precision precision, const std::string& name);

/// Has a trained network answer as fast as it can in `precision`: `set_precision` and, in fp32, the
/// weights of the blocks packed for the CPU, those of an image classifier or of a model that
/// generates; batch norms are folded into their convolutions. That also ends training and saving.
/// Weights that still lie in a file (`FileMemory::Borrow`) get memory of their own.
/// Answers in fp32 then differ from those of the network as it was by rounding alone.
void prepare_for_inference(Model& model, Precision precision, const std::string& name);

/// Why `precision` gains nothing on this machine; empty if it may.
std::string precision_note(Precision precision);

}  // namespace vitrine
