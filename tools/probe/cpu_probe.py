#!/usr/bin/env python3
"""Measures a CPU host for the roofline of `orrery`: the bandwidth of its memory, and matrix products as
in a served model.

    tools/probe/cpu_probe.py > cpu.csv          all cores; OMP_NUM_THREADS=N for fewer

Rows: copies of large arrays (the memory bandwidth), bf16 products of m rows with weights of an 8B and
a 1B model, rotating over more weights than the caches hold, decode attention over keys, and a whole
decode step of a 1B-shaped model. Needs PyTorch. Not valid for kernels of other libraries.
"""
import time

import torch

torch.set_grad_enabled(False)
ROTATION = 1 << 30
BF16 = dict(dtype=torch.bfloat16)


def timed(work, sets):
    """Returns seconds per call: the minimum of three rounds over all sets, after a warm-up round."""
    best = float("inf")
    for round_number in range(4):
        begin = time.perf_counter()
        for s in sets:
            work(*s)
        took = (time.perf_counter() - begin) / len(sets)
        if round_number > 0:
            best = min(best, took)
    return best


def say(op, seconds, m=0, n=0, k=0, batch=0, kv=0, size=0):
    print(f"{op},{m},{n},{k},{batch},{kv},{size},{seconds:.6g}", flush=True)


def products():
    for n, k in ((6144, 4096), (28672, 4096), (4096, 14336), (16384, 2048), (2048, 8192)):
        weights = [torch.randn(n, k, **BF16) for _ in range(max(2, min(16, ROTATION // (2 * n * k))))]
        for m in (1, 4, 16, 64, 256, 1024):
            x = torch.randn(m, k, **BF16)
            say("product", timed(lambda w: torch.nn.functional.linear(x, w), [(w,) for w in weights]), m, n, k)


def decodes():
    for batch, kv in ((1, 1024), (8, 1024), (32, 1024)):
        sets = [tuple(torch.randn(batch, 8, s, 128, **BF16) for s in (kv, kv)) for _ in range(4)]
        q = torch.randn(batch, 32, 1, 128, **BF16)
        work = lambda k, v: torch.nn.functional.scaled_dot_product_attention(q, k, v, enable_gqa=True)
        say("decode", timed(work, sets), 1, 0, 0, batch, kv)


def step():
    """A 1B model: 16 layers, hidden size 2048, 32 heads, 8 KV heads, MLP width 8192, 128256 words."""
    h, f, layers, vocab = 2048, 8192, 16, 128256
    make = lambda *s: torch.randn(*s, **BF16) * 0.02
    weights = [(make(h + 1024, h), make(h, h), make(2 * f, h), make(h, f)) for _ in range(layers)]
    head = make(vocab, h)
    linear, norm = torch.nn.functional.linear, torch.ones(h, **BF16)
    for batch, kv in ((1, 512), (8, 512), (32, 512), (64, 512)):
        keys = [torch.randn(2, batch, 8, kv, 64, **BF16) for _ in range(layers)]

        def run():
            x = torch.randn(batch, h, **BF16)
            for (qkv, out, up, down), cache in zip(weights, keys):
                y = linear(torch.nn.functional.rms_norm(x, (h,), norm), qkv)
                q = y[:, :h].view(batch, 32, 1, 64)
                a = torch.nn.functional.scaled_dot_product_attention(q, cache[0], cache[1], enable_gqa=True)
                x = x + linear(a.reshape(batch, h), out)
                y = linear(torch.nn.functional.rms_norm(x, (h,), norm), up)
                x = x + linear(torch.nn.functional.silu(y[:, :f]) * y[:, f:], down)
            linear(x, head).argmax(-1)

        say("step", timed(run, [()] * 3), batch, 0, 0, batch, kv)


def main():
    print("op,m,n,k,batch,kv_len,bytes,seconds")
    print(f"cores,{torch.get_num_threads()},0,0,0,0,0,0")
    for size in (1 << 28, 1 << 30):
        sets = [(torch.zeros(size, dtype=torch.uint8), torch.ones(size, dtype=torch.uint8))]
        say("copy", timed(lambda to, source: to.copy_(source), sets), size=2 * size)
        say("read", timed(lambda to, source: source.view(torch.int64).sum(), sets), size=size)
    products()
    decodes()
    step()


if __name__ == "__main__":
    main()
