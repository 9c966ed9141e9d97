#include "vitrine/labs/lab.h"

namespace vitrine::labs {

const Registry<Lab>& labs() {
  static const auto registry = [] {
    Registry<Lab> r("lab");
    r.add("1", {"lab1", teach_basics});
    r.add("2", {"lab2", teach_self_attention});
    r.add("3", {"lab3", teach_positions});
    r.add("4", {"lab4", teach_block});
    r.add("5", {"lab5", teach_sequences});
    return r;
  }();
  return registry;
}

const Registry<Lab>& exercises() {
  static const auto registry = [] {
    Registry<Lab> r("exercise");
    r.add("positions", {"positions", practise_positions});
    r.add("heads", {"heads", practise_heads});
    r.add("rnn", {"rnn", practise_rnn});
    r.add("sentence", {"sentence", practise_sentence});
    return r;
  }();
  return registry;
}

}  // namespace vitrine::labs
