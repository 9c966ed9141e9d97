#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "vitrine/onnx/emitter.h"

namespace vitrine {

/// Adds the nodes of a call and returns the names of its results.
using EmitCall = std::function<std::vector<std::string>(Emitter&, const GraphCall&)>;

/// By the name of a torch operator ("aten::linear"), what it is in ONNX. All overloads of an
/// operator share a row, for they share the names of their arguments.
using OperatorTable = std::map<std::string, EmitCall>;

const OperatorTable& operator_table();

// The table's parts, one per file.
OperatorTable arithmetic_operators();
OperatorTable shape_operators();
OperatorTable layer_operators();

}  // namespace vitrine
