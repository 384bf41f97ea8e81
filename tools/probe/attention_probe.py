#!/usr/bin/env python3
"""Measures attention kernels of PyTorch on one GPU, in the rows that `orrery calibrate` reads.

    attention_probe.py >> probe.csv        after gpu_probe > probe.csv; --header for a separate file
    attention_probe.py --header --packed   FlashAttention 2 over sequences of different lengths

Prefill forward and backward (causal) and decode, with the fastest backend that PyTorch offers (cuDNN,
then flash). --packed measures, forward only, the kernel of tools/probe/serve_loop.py, which takes
requests of different lengths packed into one row. Kernels are captured in a CUDA graph, so that the
host's launches do not count, and rotate over more memory than the cache holds.
"""
import sys
import time

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention as attention

COLUMNS = ("gpu,op,dtype,pass,m,n,k,batch,q_heads,kv_heads,head_dim,q_len,kv_len,bytes,seconds,"
           "sustained,watts")
ROTATION = 512 << 20  # bytes
BACKENDS = [SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION]


def captured(work):
    """Returns a graph of `work`, after running it once."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            work()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    return graph


def burst(graph, calls):
    """Returns seconds per call: the median of three bursts of some milliseconds."""
    times = []
    for _ in range(3):
        time.sleep(0.01)
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) * 1e-3 / calls)
    return sorted(times)[1]


def row(direction, shape, seconds):
    batch, q_heads, kv_heads, dim, q_len, kv_len = shape
    print(f"{torch.cuda.get_device_name()},attention,bf16,{direction},0,0,0,{batch},{q_heads},"
          f"{kv_heads},{dim},{q_len},{kv_len},0,{seconds:.6g},0,0.0", flush=True)


def operands(shape, gradients):
    batch, q_heads, kv_heads, dim, q_len, kv_len = shape
    size = [(batch, q_heads, q_len, dim), (batch, kv_heads, kv_len, dim), (batch, kv_heads, kv_len, dim)]
    total = sum(2 * torch.Size(s).numel() for s in size)
    copies = max(1, min(8, ROTATION // total))
    return [[torch.randn(s, device="cuda", dtype=torch.bfloat16, requires_grad=gradients) for s in size]
            for _ in range(copies)]


def measure(shape):
    causal = shape[4] > 1
    flop = 4 * shape[0] * shape[1] * shape[3] * shape[4] * shape[5] * (0.5 if causal else 1)
    repeats = max(1, min(20, int(2e12 / max(flop, 1))))
    sets = operands(shape, gradients=causal)

    def forward():
        for _ in range(repeats):
            for q, k, v in sets:
                attention(q, k, v, is_causal=causal, enable_gqa=True)

    with torch.no_grad():
        seconds = burst(captured(forward), repeats * len(sets))
    row("forward", shape, seconds)
    if not causal:
        return
    seed = torch.randn_like(sets[0][0])

    def both():
        for q, k, v in sets:
            out = attention(q, k, v, is_causal=True, enable_gqa=True)
            torch.autograd.grad(out, (q, k, v), seed)

    row("backward", shape, burst(captured(both), len(sets)) - seconds)


def measure_packed(shape):
    """Each sequence has a region of the cache in which its keys and values are contiguous."""
    batch, q_heads, kv_heads, dim, q_len, kv_len = shape
    opts = dict(device="cuda", dtype=torch.bfloat16)
    copies = max(1, min(8, ROTATION // (4 * batch * kv_len * kv_heads * dim)))
    caches = [torch.randn(batch * kv_len, 2, kv_heads, dim, **opts) for _ in range(copies)]
    q = torch.randn(batch * q_len, q_heads, dim, **opts)
    starts = torch.arange(0, batch * q_len + 1, q_len, device="cuda", dtype=torch.int32)
    ends = torch.arange(0, batch * kv_len + 1, kv_len, device="cuda", dtype=torch.int32)
    used = torch.full((batch,), kv_len, device="cuda", dtype=torch.int32)
    repeats = max(1, min(20, int(2e12 / (4 * batch * q_heads * dim * q_len * kv_len))))

    def forward():
        for _ in range(repeats):
            for cache in caches:
                torch.ops.aten._flash_attention_forward(
                    q, cache[:, 0], cache[:, 1], starts, ends, q_len, kv_len, 0.0, True, False,
                    seqused_k=used)

    with torch.inference_mode():
        row("forward", shape, burst(captured(forward), repeats * copies))


def packed():
    heads = [(32, 8, 128), (64, 8, 128), (16, 16, 128)]
    decode = [(b, h, g, d, 1, s) for h, g, d in heads for b in (1, 4, 8, 16, 32, 64, 128)
              for s in (128, 512, 1024, 2048, 8192) if b * g * s * d * 4 < 20e9]
    prefill = [(b, h, g, d, s, s) for h, g, d in heads
               for b, s in [(1, 128), (1, 256), (1, 512), (4, 512), (1, 1024), (2, 1024), (1, 2048),
                            (4, 2048), (1, 4096)]]
    for shape in decode + prefill:
        measure_packed(shape)
        torch.cuda.empty_cache()


def main():
    if "--header" in sys.argv:
        print(COLUMNS)
    if "--packed" in sys.argv:
        return packed()
    heads = [(32, 8, 128), (64, 8, 128), (16, 16, 128), (12, 12, 64), (8, 1, 128)]
    prefill = [(b, h, g, d, s, s) for h, g, d in heads
               for b, s in [(1, 1024), (8, 1024), (1, 2048), (4, 2048), (1, 4096), (4, 4096),
                            (1, 8192), (2, 8192), (1, 16384)]]
    decode = [(b, h, g, d, 1, s) for h, g, d in heads[:3] for b in (1, 8, 32, 128, 256)
              for s in (512, 2048, 8192, 32768) if b * g * s * d * 4 < 40e9]
    with sdpa_kernel(BACKENDS, set_priority=True):
        for shape in prefill + decode:
            try:
                measure(shape)
            except RuntimeError as fault:
                print(f"attention_probe: {shape}: {str(fault).splitlines()[0]}", file=sys.stderr)
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
