"""quantize_onnx.py IN.onnx OUT.onnx: products with constant matrices in int8, as ONNX Runtime wants them.

Weights have a scale for each output, inputs one for the tensor, found when it arrives: what
onnxruntime.quantization.quantize_dynamic(per_channel=True) makes.
"""

import sys

import numpy as np
import onnx
from onnx import helper, numpy_helper


def quantized(model):
    graph = model.graph
    matrices = {i.name: i for i in graph.initializer if len(i.dims) == 2}
    replaced = [n for n in graph.node if n.op_type == "MatMul" and n.input[1] in matrices]
    weights = {}
    for name in {n.input[1] for n in replaced}:
        w = numpy_helper.to_array(matrices[name])  # (in, out)
        scale = np.maximum(np.abs(w).max(0), 1e-30) / 127
        weights[name] = (np.rint(w / scale).astype(np.int8), scale.astype(np.float32))
    nodes, inputs = [], set()
    for node in graph.node:
        if node not in replaced:
            nodes.append(node)
            continue
        x, w = node.input
        y = node.output[0]
        if x not in inputs:
            inputs.add(x)
            nodes.append(helper.make_node("DynamicQuantizeLinear", [x], [f"{x}.q", f"{x}.scale", f"{x}.zero"]))
        nodes += [
            helper.make_node("MatMulInteger", [f"{x}.q", f"{w}.q", f"{x}.zero"], [f"{y}.sum"]),
            helper.make_node("Cast", [f"{y}.sum"], [f"{y}.float"], to=onnx.TensorProto.FLOAT),
            helper.make_node("Mul", [f"{x}.scale", f"{w}.scale"], [f"{y}.scale"]),
            helper.make_node("Mul", [f"{y}.float", f"{y}.scale"], [y]),
        ]
    kept = [i for i in graph.initializer if i.name not in weights]
    del graph.node[:], graph.initializer[:]
    graph.node.extend(nodes)
    graph.initializer.extend(kept)
    for name, (q, scale) in weights.items():
        graph.initializer.append(numpy_helper.from_array(q, f"{name}.q"))
        graph.initializer.append(numpy_helper.from_array(scale, f"{name}.scale"))
    return model


if __name__ == "__main__":
    onnx.save(quantized(onnx.load(sys.argv[1])), sys.argv[2])
