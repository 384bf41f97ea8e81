#!/usr/bin/env python3
"""Measures the cost of LoRA adapters in a serving step on one GPU: their products, and their loading.

    tools/probe/adapter_probe.py > adapters.csv

products  the eight kernels of a layer (a shrink and an expand for each of qkv, o, gate and up,
          down) with the shapes of an 8B model and tokens spread evenly over the adapters of a step;
          32 layers with separate weights in one CUDA graph, so that the cache does not help
load      an adapter's tensors from pinned memory into a slot, one copy per tensor, as engines do
Rows: op, tokens (load: copies), adapters, rank, seconds of all layers. Needs PyTorch and Triton.
Not valid for tokens that are spread unevenly, or for engines with kernels tuned for a device.
"""
import torch
import triton
import triton.language as tl

LAYERS = 32
PRODUCTS = [(4096, (4096, 1024, 1024)), (4096, (4096,)), (4096, (14336, 14336)), (14336, (4096,))]


@triton.jit(do_not_specialize=["each", "tokens"])
def shrink(x, a, y, each, tokens, K, R: tl.constexpr, BM: tl.constexpr, BK: tl.constexpr,
           SPLIT: tl.constexpr):
    s, g = tl.program_id(1), tl.program_id(2)
    part, tile = tl.program_id(0) % SPLIT, tl.program_id(0) // SPLIT
    if tile * BM >= each:
        return
    row = tile * BM + tl.arange(0, BM)
    k = part * BK + tl.arange(0, BK)
    n = tl.arange(0, R)
    sum = tl.zeros((BM, R), tl.float32)
    xs = x + (g * each + row)[:, None] * K + k[None, :]
    ws = a + (g * tl.num_programs(1) + s) * R * K + n[None, :] * K + k[:, None]
    for i in range(0, K, BK * SPLIT):
        sum = tl.dot(tl.load(xs + i, mask=(row < each)[:, None], other=0), tl.load(ws + i), sum)
    ys = y + (s * tokens + g * each + row)[:, None] * R + n[None, :]
    tl.atomic_add(ys, sum, mask=(row < each)[:, None], sem="relaxed")


@triton.jit(do_not_specialize=["each", "tokens"])
def expand(y, b, out, each, tokens, N, first, second, R: tl.constexpr, BM: tl.constexpr,
           BN: tl.constexpr):
    g, tile = tl.program_id(2), tl.program_id(0)
    if tile * BM >= each:
        return
    row = tile * BM + tl.arange(0, BM)
    column = tl.program_id(1) * BN
    # The index of the product, among those side by side, to which these columns belong.
    s = (column >= first).to(tl.int32) + (column >= second).to(tl.int32)
    n = column + tl.arange(0, BN)
    rank = tl.arange(0, R)
    here = (row < each)[:, None]
    ys = tl.load(y + (s * tokens + g * each + row)[:, None] * R + rank[None, :], mask=here, other=0)
    bs = tl.load(b + g * N * R + n[None, :] * R + rank[:, None])
    at = out + (g * each + row)[:, None] * N + n[None, :]
    old = tl.load(at, mask=here, other=0)
    tl.store(at, old + tl.dot(ys.to(tl.bfloat16), bs).to(tl.bfloat16), mask=here)


def layer(x, a, b, y, out, tokens, adapters, rank):
    each = tokens // adapters
    for i, (k, widths) in enumerate(PRODUCTS):
        small = tokens < 128
        split, bk, bm = (k // 256, 256, 16) if small else (8, 64 if rank < 128 else 32, 32)
        y.zero_()
        tiles = triton.cdiv(each, bm)
        shrink[(tiles * split, len(widths), adapters)](x, a[i], y, each, tokens, k, rank, bm, bk,
                                                       split)
        n = sum(widths)
        bm = 16 if small else 64
        expand[(triton.cdiv(each, bm), n // 128, adapters)](y, b[i], out, each, tokens, n,
                                                            widths[0], sum(widths[:2]), rank, bm,
                                                            128)


def timed(work, times=5):
    for _ in range(2):
        work()
    marks = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
    best = []
    for _ in range(times):
        marks[0].record()
        work()
        marks[1].record()
        torch.cuda.synchronize()
        best.append(marks[0].elapsed_time(marks[1]) / 1e3)
    return sorted(best)[times // 2]


def random(*shape):
    return torch.randn(shape, device="cuda", dtype=torch.bfloat16) * 0.02


def products(rank, most):
    a = [[random(most * len(w) * rank * k) for k, w in PRODUCTS] for _ in range(LAYERS)]
    b = [[random(most * sum(w) * rank) for _, w in PRODUCTS] for _ in range(LAYERS)]
    x, out = random(8192, 14336), random(8192, 28672)
    for tokens in (1, 8, 32, 64, 128, 256, 1024, 2048, 8192):
        for adapters in (1, 2, 4, 8, 16, 32, 64):
            if adapters > min(tokens, most):
                continue
            y = torch.zeros(3 * tokens * rank, device="cuda")
            run = lambda i: layer(x, a[i], b[i], y, out, tokens, adapters, rank)
            run(0)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                for i in range(LAYERS):
                    run(i)
            print(f"products,{tokens},{adapters},{rank},{timed(graph.replay):.6g}", flush=True)


def loads(rank):
    sizes = [n * rank for k, w in PRODUCTS for n in [k] * len(w) + list(w)] * LAYERS
    pairs = [(torch.zeros(s, dtype=torch.bfloat16).pin_memory(), random(s)) for s in sizes]

    def copy():
        for host, device in pairs:
            device.copy_(host, non_blocking=True)

    print(f"load,{len(pairs)},1,{rank},{timed(copy):.6g}", flush=True)


print("op,tokens,adapters,rank,seconds")
for r in (8, 16, 64, 128):
    loads(r)
for r, m in ((16, 64), (32, 32), (64, 32), (128, 16)):
    products(r, m)
