#!/usr/bin/env python3
"""Runs an 8B-shaped model with random weights under vLLM's policy, which orrery decides over a pipe.

    python3 tools/probe/serve_loop.py --orrery build/release/orrery > serve_loop.csv
    python3 tools/probe/serve_loop.py --orrery build/release/orrery --dry-run      # no GPU, no torch

Every iteration is planned by `orrery probe serving --live` and executed here: prompts (whole or in
chunks) one after the other, decoding requests together. Then `orrery probe serving` simulates the same requests. Prints CSV: every iteration with its
measured and simulated seconds and whether the decisions are equal, then the latencies.
Decode runs as one CUDA graph, as engines do; prompts run eagerly.
Wrong for: TTFT of a server (no network, no tokeniser), batches above the number of clients.
"""
import argparse
import subprocess
import sys
import time

LAYERS, HIDDEN, HEADS, KV_HEADS, HEAD, FFN, VOCAB = 32, 4096, 32, 8, 128, 14336, 128256
BLOCK = 16


class DryRun:
    """Answers with a made-up time: the pipe and the comparison can be tried anywhere."""

    def run(self, items):
        return 0.005 + 1e-6 * sum(tokens for _, tokens, _ in items)


class Gpu:
    """Each running request has a region of the cache of its own: PyTorch's attention takes no table of
    blocks. Decode covers all regions at once, those that do not decode included, behind a mask."""

    def __init__(self, slots, longest):
        import torch

        self.torch = torch
        torch.manual_seed(1)
        self.device = torch.device("cuda")
        opts = dict(device=self.device, dtype=torch.bfloat16)
        make = lambda *shape: torch.randn(*shape, **opts) * 0.02
        kv = KV_HEADS * HEAD
        self.span = (longest + BLOCK - 1) // BLOCK * BLOCK
        self.slots = slots
        self.layers = [
            dict(qkv=make(HIDDEN + 2 * kv, HIDDEN), out=make(HIDDEN, HIDDEN),
                 up=make(2 * FFN, HIDDEN), down=make(HIDDEN, FFN),
                 keys=torch.zeros(slots, KV_HEADS, self.span, HEAD, **opts),
                 values=torch.zeros(slots, KV_HEADS, self.span, HEAD, **opts))
            for _ in range(LAYERS)]
        self.embed = make(VOCAB, HIDDEN)
        self.head = make(VOCAB, HIDDEN)
        self.norm = torch.ones(HIDDEN, **opts)
        self.slot_of = {}
        self.rows = torch.arange(slots, device=self.device)
        self.seen = torch.arange(self.span, device=self.device)
        self.tokens = torch.zeros(slots, device=self.device, dtype=torch.long)
        self.context = torch.zeros(slots, device=self.device, dtype=torch.long)
        self.warm()

    def warm(self):
        """Kernels are loaded and the graph is captured before anything is timed."""
        torch = self.torch
        side = torch.cuda.Stream()
        with torch.cuda.stream(side), torch.no_grad():
            for _ in range(3):
                self.decode()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph), torch.no_grad():
            self.sampled = self.decode()
        with torch.no_grad():
            for tokens in (64, 128, 256, 384, 512):
                for context in (0, 16):
                    self.prompt(0, min(tokens, self.span - context), context)
        torch.cuda.synchronize()

    def rms(self, x):
        return self.torch.nn.functional.rms_norm(x, (HIDDEN,), self.norm)

    def mlp(self, x, layer):
        f = self.torch.nn.functional
        up, gate = f.linear(self.rms(x), layer["up"]).chunk(2, -1)
        return x + f.linear(f.silu(gate) * up, layer["down"])

    def split(self, x, layer):
        q, k, v = self.torch.nn.functional.linear(self.rms(x), layer["qkv"]).split(
            [HIDDEN, KV_HEADS * HEAD, KV_HEADS * HEAD], -1)
        rows = x.shape[0]
        return q.view(rows, HEADS, HEAD), k.view(rows, KV_HEADS, HEAD), v.view(rows, KV_HEADS, HEAD)

    def prompt(self, slot, tokens, context):
        torch, f = self.torch, self.torch.nn.functional
        end = context + tokens
        place = self.seen[context:end]
        x = self.embed[place]
        mask = None if context == 0 else self.seen[None, :end] <= place[:, None]
        for layer in self.layers:
            q, k, v = self.split(x, layer)
            layer["keys"][slot, :, context:end] = k.transpose(0, 1)
            layer["values"][slot, :, context:end] = v.transpose(0, 1)
            k, v = layer["keys"][slot, :, :end], layer["values"][slot, :, :end]
            if mask is not None:
                k, v = (t.repeat_interleave(HEADS // KV_HEADS, 0) for t in (k, v))
            y = f.scaled_dot_product_attention(q.transpose(0, 1)[None], k[None], v[None], attn_mask=mask,
                                               is_causal=mask is None, enable_gqa=mask is None)
            x = x + f.linear(y[0].transpose(0, 1).reshape(tokens, HIDDEN), layer["out"])
            x = self.mlp(x, layer)
        self.tokens[slot] = f.linear(self.rms(x[-1:]), self.head).argmax(-1)[0]

    def decode(self):
        """One token for every region; heads that share keys stand as queries of one head."""
        f = self.torch.nn.functional
        group = HEADS // KV_HEADS
        mask = (self.seen[None] <= self.context[:, None])[:, None, None].expand(-1, -1, group, -1)
        x = self.embed[self.tokens]
        for layer in self.layers:
            q, k, v = self.split(x, layer)
            layer["keys"][self.rows, :, self.context] = k
            layer["values"][self.rows, :, self.context] = v
            y = f.scaled_dot_product_attention(q.view(self.slots, KV_HEADS, group, HEAD), layer["keys"],
                                               layer["values"], attn_mask=mask)
            x = x + f.linear(y.reshape(self.slots, HIDDEN), layer["out"])
            x = self.mlp(x, layer)
        return f.linear(self.rms(x), self.head).argmax(-1)

    def run(self, items):
        torch = self.torch
        start = time.perf_counter()
        alive = {request for request, _, _ in items}
        # vLLM plans every running request in every iteration: who is missing has ended or was evicted.
        self.slot_of = {r: s for r, s in self.slot_of.items() if r in alive}
        idle = [s for s in range(self.slots) if s not in self.slot_of.values()]
        context = [self.span - 1] * self.slots
        decoding = False
        with torch.no_grad():
            for request, tokens, before in items:
                if request not in self.slot_of:
                    self.slot_of[request] = idle.pop()
                slot = self.slot_of[request]
                if tokens == 1 and before > 0:
                    context[slot] = before
                    decoding = True
                else:
                    self.prompt(slot, tokens, before)
            if decoding:
                self.context.copy_(torch.tensor(context), non_blocking=True)
                self.graph.replay()
                self.tokens.copy_(self.sampled)
            torch.cuda.synchronize()
        return time.perf_counter() - start


def parsed(line):
    return [tuple(int(part) for part in word.split(":")) for word in line.split()[1:]]


def settings(arguments):
    names = ("clients", "requests", "prompt", "output", "blocks", "budget", "sequences")
    return [word for name in names for word in ("--" + name, str(getattr(arguments, name)))]


def live(arguments, executor):
    command = [arguments.orrery, "probe", "serving", "--live"] + settings(arguments)
    engine = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    rows, end = [], ""
    for line in engine.stdout:
        if not line.startswith("run "):
            end = line.strip()
            continue
        took = executor.run(parsed(line))
        rows.append((took, line[4:].strip()))
        engine.stdin.write("took %.9f\n" % took)
        engine.stdin.flush()
    return rows, end, engine.wait()


def simulated(arguments):
    command = [arguments.orrery, "probe", "serving", "--accelerator", arguments.accelerator] + settings(arguments)
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    rows = [(float(line.split(" ", 3)[2]), line.split(" ", 3)[3]) for line in text if line.startswith("iteration ")]
    return rows, next(line for line in text if line.startswith("end "))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--orrery", default="./orrery")
    parser.add_argument("--accelerator", default="h200-sxm")
    parser.add_argument("--dry-run", action="store_true")
    for name, value in (("clients", 16), ("requests", 100), ("prompt", 512), ("output", 128),
                        ("blocks", 4096), ("budget", 2048), ("sequences", 64)):
        parser.add_argument("--" + name, type=int, default=value)
    arguments = parser.parse_args()
    longest = arguments.prompt + arguments.output
    executor = DryRun() if arguments.dry_run else Gpu(arguments.clients, longest)
    measured, end, code = live(arguments, executor)
    expected, expected_end = simulated(arguments)
    if code != 0:
        sys.exit("the policy ended with code %d" % code)
    equal = sum(a[1] == b[1] for a, b in zip(measured, expected))
    print("iteration,measured_s,simulated_s,decision_equal,decision")
    for i, ((took, decision), (guess, other)) in enumerate(zip(measured, expected)):
        print("%d,%.6f,%.6f,%d,%s" % (i, took, guess, decision == other, decision))
    print("# measured  " + end)
    print("# simulated " + expected_end)
    print("# decisions equal: %d of %d (simulated %d)" % (equal, len(measured), len(expected)))
    sys.exit(0 if equal == len(measured) == len(expected) else 1)


if __name__ == "__main__":
    main()
