"""The same training step or forward pass in Python's torch: the peer of `vitrine bench`.

Run by bench/peers/compare.py; prints one JSON object like `vitrine bench --json`.
"""

import argparse
import json
import resource
import statistics
import time

import published
import torch
import torchvision
from torchvision.models import swin_transformer

VITS = {  # name: image, patch, width, depth, heads, hidden, classes
    "vit_c10_small": (32, 4, 192, 9, 3, 768, 10),
    "vit_ti16": (224, 16, 192, 12, 3, 768, 1000),
    "vit_s16": (224, 16, 384, 12, 6, 1536, 1000),
    "vit_b16": (224, 16, 768, 12, 12, 3072, 1000),
}


def swin_v2_t_224():
    """Swin v2-T with the windows of 7 x 7 tokens that divide an image of 224."""
    return swin_transformer.SwinTransformer(
        patch_size=[4, 4], embed_dim=96, depths=[2, 2, 6, 2], num_heads=[3, 6, 12, 24],
        window_size=[7, 7], stochastic_depth_prob=0.2,
        block=swin_transformer.SwinTransformerBlockV2,
        downsample_layer=swin_transformer.PatchMergingV2)


OTHERS = {  # images of 224, 1000 classes
    "resnet18": torchvision.models.resnet18,
    "resnet50": torchvision.models.resnet50,
    "swin_t": torchvision.models.swin_t,
    "swin_v2_t": swin_v2_t_224,
}

SUM_DIGITS = (2, 10, 10)  # values of the hundreds, tens and units of a sum


class AdditionTransformer(torch.nn.Module):
    """`addition_transformer`: embedding, positions, encoder layers, one linear layer."""

    def __init__(self, embed=8, layers=2, hidden=32, heads=2):
        super().__init__()
        self.embedding = torch.nn.Embedding(10, embed)
        self.positions = torch.nn.Parameter(0.02 * torch.randn(1, 4, embed))
        layer = torch.nn.TransformerEncoderLayer(
            embed, heads, hidden, dropout=0, batch_first=True, norm_first=True)
        self.encoder = torch.nn.TransformerEncoder(layer, layers, torch.nn.LayerNorm(embed))
        self.head = torch.nn.Linear(4 * embed, sum(SUM_DIGITS))

    def forward(self, digits):
        return self.head(self.encoder(self.embedding(digits) + self.positions).flatten(1))


class WaveTransformer(torch.nn.Module):
    """`wave_transformer`: 20 values, one encoder layer, the next value from the last position."""

    def __init__(self, length=20, dim=32, heads=4, hidden=128):
        super().__init__()
        self.embed = torch.nn.Linear(1, dim)
        self.positions = torch.nn.Parameter(0.02 * torch.randn(1, length, dim))
        self.encoder = torch.nn.TransformerEncoderLayer(
            dim, heads, hidden, dropout=0, activation="gelu", batch_first=True, norm_first=True)
        self.norm = torch.nn.LayerNorm(dim)
        self.head = torch.nn.Linear(dim, 1)

    def forward(self, values):
        tokens = self.encoder(self.embed(values.unsqueeze(2)) + self.positions)
        return self.head(self.norm(tokens[:, -1])).squeeze(1)


class WaveRnn(torch.nn.Module):
    """`wave_rnn`: the next value from the last state."""

    def __init__(self, hidden=64):
        super().__init__()
        self.rnn = torch.nn.RNN(1, hidden, batch_first=True)
        self.head = torch.nn.Linear(hidden, 1)

    def forward(self, values):
        return self.head(self.rnn(values.unsqueeze(2))[0][:, -1]).squeeze(1)


WAVES = {"wave_transformer": WaveTransformer, "wave_rnn": WaveRnn}


def digits_loss(scores, digits):
    parts = scores.split(SUM_DIGITS, dim=1)
    losses = [torch.nn.functional.cross_entropy(p, digits[:, i]) for i, p in enumerate(parts)]
    return sum(losses) / len(losses)


def build(name):
    """The model, an example of its input and of its targets, and its loss."""
    cross_entropy = torch.nn.functional.cross_entropy
    if name == "addition_transformer":
        targets = lambda b: torch.stack([torch.randint(v, (b,)) for v in SUM_DIGITS], 1)
        return AdditionTransformer(), lambda b: torch.randint(10, (b, 4)), targets, digits_loss
    if name in WAVES:
        return (WAVES[name](), lambda b: torch.randn(b, 20), lambda b: torch.randn(b),
                torch.nn.functional.mse_loss)
    if name == "igpt_s":
        model = published.build(name)
        tokens = lambda b: torch.randint(model.colors, (b, model.tokens))
        return model, tokens, tokens, lambda logits, y: cross_entropy(logits.flatten(0, 1), y.flatten())
    model, image, classes = build_for_images(name)
    return (model, lambda b: torch.randn(b, 3, image, image),
            lambda b: torch.randint(classes, (b,)), cross_entropy)


def build_for_images(name):
    if name in VITS:
        image, patch, dim, depth, heads, hidden, classes = VITS[name]
        model = torchvision.models.VisionTransformer(
            image_size=image, patch_size=patch, num_layers=depth, num_heads=heads,
            hidden_dim=dim, mlp_dim=hidden, num_classes=classes)
        return model, image, classes
    if name in OTHERS:
        return OTHERS[name](), 224, 1000
    if name == "cct_2_3x2":
        return published.build(name), 32, 10
    if name in published.MODELS:
        return published.build(name), 224, 1000
    known = ", ".join([*VITS, *OTHERS, *published.MODELS, *WAVES, "addition_transformer"])
    raise SystemExit(f"no peer for {name}; known: {known}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=["train", "infer", "save"])
    parser.add_argument("--model", required=True)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--precision", choices=["fp32", "bf16"], default="fp32")
    parser.add_argument("--out", help="save: the file for the random weights")
    o = parser.parse_args()
    torch.set_num_threads(o.threads)
    torch.manual_seed(1)
    model, example_input, example_targets, loss = build(o.model)
    if o.kind == "save":
        torch.save(model.state_dict(), o.out)
        return
    x, y = example_input(o.batch), example_targets(o.batch)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.05)

    model.train(o.kind == "train")
    for module in model.modules():
        # The fast path of 1.13, which is for inference only, does not go with autocast.
        if isinstance(module, torch.nn.MultiheadAttention) and o.precision == "bf16":
            module.train()
    autocast = lambda: torch.autocast("cpu", torch.bfloat16, enabled=o.precision == "bf16")

    def train():
        with autocast():
            value = loss(model(x), y)
        value.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    def infer():
        with torch.inference_mode(), autocast():
            model(x)

    step = train if o.kind == "train" else infer
    for _ in range(2):
        step()
    times = []
    start = time.perf_counter()
    while len(times) < 5 or time.perf_counter() - start < o.seconds:
        began = time.perf_counter()
        step()
        times.append(1e3 * (time.perf_counter() - began))
    ms = statistics.median(times)
    print(json.dumps({"bench": o.kind, "model": o.model, "batch": o.batch, "threads": o.threads,
                      "precision": o.precision, "torch": torch.__version__, "ms_per_step": ms,
                      "steps": len(times), "examples_per_second": 1e3 * o.batch / ms,
                      "peak_bytes": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}))


if __name__ == "__main__":
    main()
