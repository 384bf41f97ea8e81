#!/usr/bin/env python3
"""Measures kernels on slices (MIG) of one GPU, alone and with every other slice busy.

    sudo nvidia-smi -i 0 -mig 1; sudo tools/probe/slice_probe.py > slices.csv; sudo nvidia-smi -i 0 -mig 0

For every profile of the GPU, one instance is created and measured. Then as many as fit are created,
and all except the first are kept busy with large products or copies. Kernels are captured in CUDA
graphs and rotate over more memory than the cache holds. Every slice gets the same shapes, so that rows
can be compared. Needs root (to create and destroy instances) and PyTorch. Not valid for power, which
is that of the whole board.
"""
import os
import re
import subprocess
import sys
import time

COLUMNS = "profile,neighbours,op,m,n,k,batch,kv_len,bytes,seconds"
PRODUCTS = [(m, n, k) for n, k in ((6144, 4096), (28672, 4096), (4096, 14336))
            for m in (1, 16, 64, 256, 1024, 4096)]
COPIES = [1 << 22, 1 << 25, 1 << 28]
DECODES = [(1, 8192), (8, 2048), (32, 2048), (64, 1024)]  # requests, keys; 32 heads, 8 KV heads
PREFILLS = [512, 2048, 4096]
ROTATION = 512 << 20


def smi(*words):
    return subprocess.run(["nvidia-smi", *words], check=True, capture_output=True, text=True).stdout


def profiles():
    rows = re.findall(r"MIG (\S+)\s+(\d+)\s+\d+/(\d+)", smi("mig", "-lgip"))
    return [(name, number, int(most)) for name, number, most in rows if "+" not in name]


def clear():
    for flag in ("-dci", "-dgi"):
        subprocess.run(["nvidia-smi", "mig", flag], capture_output=True)


def slices():
    return re.findall(r"UUID: (MIG-\S+)\)", smi("-L"))


def child(uuid, *words):
    return subprocess.Popen([sys.executable, __file__, *words], stdout=subprocess.PIPE, text=True,
                            env={**os.environ, "CUDA_VISIBLE_DEVICES": uuid})


def measure_profile(name, number, most):
    for neighbours in (0, most - 1) if most > 1 else (0,):
        clear()
        smi("mig", "-cgi", ",".join([number] * (neighbours + 1)), "-C")
        first, *others = slices()
        busy = [child(uuid, "--busy") for uuid in others]
        for b in busy:
            b.stdout.readline()
        rows = child(first, "--rows").communicate()[0]
        for b in busy:
            b.kill()
            b.wait()
        for line in rows.splitlines():
            print(f"{name},{neighbours},{line}", flush=True)
    clear()


def busy():
    """Alternates products and copies until it is ended."""
    import torch
    a = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)
    here, there = (torch.empty(1 << 28, device="cuda", dtype=torch.uint8) for _ in range(2))
    torch.cuda.synchronize()
    print("ready", flush=True)
    while True:
        for _ in range(20):
            a @ a
            there.copy_(here)
        torch.cuda.synchronize()


def rows():
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.functional import scaled_dot_product_attention as attention
    opts = dict(device="cuda", dtype=torch.bfloat16)

    def timed(work, sets):
        """Returns seconds per call of `work`: the median of five bursts of at least a few milliseconds."""
        once = lambda: [work(*s) for s in sets]
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            for _ in range(2):
                once()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            once()
        times = []
        for _ in range(6):
            time.sleep(0.005)
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            graph.replay()
            end.record()
            end.synchronize()
            times.append(begin.elapsed_time(end) * 1e-3 / len(sets))
        return sorted(times[1:])[2]

    def copies_of(size, most=24):
        return max(1, min(most, ROTATION // size))

    def say(op, seconds, m=0, n=0, k=0, batch=0, kv=0, size=0):
        print(f"{op},{m},{n},{k},{batch},{kv},{size},{seconds:.6g}", flush=True)

    with torch.inference_mode():
        for size in COPIES:
            sets = [(torch.empty(size, device="cuda", dtype=torch.uint8),
                     torch.empty(size, device="cuda", dtype=torch.uint8)) for _ in range(copies_of(2 * size))]
            say("copy", timed(lambda to, source: to.copy_(source), sets), size=2 * size)
            del sets
        for m, n, k in PRODUCTS:
            sets = [(torch.randn(m, k, **opts), torch.randn(n, k, **opts).t())
                    for _ in range(copies_of(2 * n * k))]
            say("product", timed(lambda a, b: a @ b, sets), m=m, n=n, k=k)
            del sets
            torch.cuda.empty_cache()
        with sdpa_kernel([SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION], set_priority=True):
            for batch, kv in DECODES + [(1, s) for s in PREFILLS]:
                q_len = kv if (batch, kv) not in DECODES else 1
                size = 4 * batch * 8 * kv * 128
                sets = [(torch.randn(batch, 32, q_len, 128, **opts), torch.randn(batch, 8, kv, 128, **opts),
                         torch.randn(batch, 8, kv, 128, **opts)) for _ in range(copies_of(size, 8))]
                work = lambda q, k, v: attention(q, k, v, is_causal=q_len > 1, enable_gqa=True)
                say("decode" if q_len == 1 else "prefill", timed(work, sets), m=q_len, batch=batch, kv=kv)
                del sets
                torch.cuda.empty_cache()


def main():
    if "--busy" in sys.argv:
        return busy()
    if "--rows" in sys.argv:
        return rows()
    if "-h" in sys.argv or "--help" in sys.argv:
        return print(__doc__)
    print(COLUMNS, flush=True)
    for profile in profiles():
        measure_profile(*profile)


if __name__ == "__main__":
    main()
