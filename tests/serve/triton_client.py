"""Drives `vitrine serve NAME=PATH` with a client that others wrote: tritonclient.http of NVIDIA.

    vitrine serve vit=weights.safetensors --port 8123 &
    PYTHONPATH=client/src/python/library python3 tests/serve/triton_client.py localhost:8123 vit

needs the source of github.com/triton-inference-server/client and, of Debian, python3-geventhttpclient,
python3-rapidjson and python3-numpy. Not part of `make test`.
"""
import sys

import numpy as np
import tritonclient.http as http
from tritonclient.utils import InferenceServerException

address, model = sys.argv[1:]
client = http.InferenceServerClient(address)
assert client.is_server_live() and client.is_server_ready()
assert client.is_model_ready(model) and client.is_model_ready(model, "1")
assert not client.is_model_ready("none")
assert client.get_server_metadata()["name"] == "vitrine"
assert client.get_model_repository_index()[0]["state"] == "READY"
shape = [2] + client.get_model_metadata(model)["inputs"][0]["shape"][1:]
image = np.random.default_rng(1).standard_normal(shape).astype(np.float32)


def tensor(values, binary=True):
    return http.InferInput("image", list(values.shape), "FP32").set_data_from_numpy(values, binary)


expected = client.infer(model, [tensor(image)]).as_numpy("logits")
assert expected.shape[0] == 2 and np.isfinite(expected).all()
for binary_input in (True, False):
    for binary_output in (True, False):
        output = http.InferRequestedOutput("logits", binary_data=binary_output)
        answer = client.infer(model, [tensor(image, binary_input)], outputs=[output], request_id="7")
        assert np.array_equal(answer.as_numpy("logits"), expected)
        assert answer.get_response()["id"] == "7"
for algorithm in ("gzip", "deflate"):
    answer = client.infer(model, [tensor(image)], request_compression_algorithm=algorithm,
                          response_compression_algorithm=algorithm)
    assert np.array_equal(answer.as_numpy("logits"), expected)
answer = client.async_infer(model, [tensor(image)]).get_result()
assert np.array_equal(answer.as_numpy("logits"), expected)
client.unload_model(model)
assert not client.is_model_ready(model)
client.load_model(model)
assert client.is_model_ready(model)
for name, values in (("none", image), (model, np.zeros((1, 3, 5, 5), np.float32))):
    try:
        client.infer(name, [tensor(values)])
        raise AssertionError("no error")
    except InferenceServerException as error:
        print("refused, as it should be:", error)
print("all holds")
