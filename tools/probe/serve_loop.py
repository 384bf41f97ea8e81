#!/usr/bin/env python3
"""Runs an 8B-shaped model with random weights under vLLM's policy, which orrery decides over a pipe.

    python3 tools/probe/serve_loop.py --orrery build/release/orrery > serve_loop.csv
    python3 tools/probe/serve_loop.py --orrery build/release/orrery --dry-run      # no GPU, no torch

`orrery probe serving --live` plans every iteration, and this program executes it: prompts (whole or in
chunks) and decoding requests packed into one pass. Then `orrery probe serving` simulates the same
requests, using the time that this host takes to launch a layer. Prints CSV: every iteration with its
measured and simulated seconds and whether the decisions are equal, then the latencies. An iteration
that only decodes runs as a CUDA graph, as in engines; one with a prompt runs eagerly.
Not valid for the TTFT of a server (no network, no tokeniser); has no rotary embedding.
"""
import argparse
import gc
import subprocess
import sys
import time

LAYERS, HIDDEN, HEADS, KV_HEADS, HEAD, FFN, VOCAB = 32, 4096, 32, 8, 128, 14336, 128256
BLOCK = 16


class DryRun:
    """Answers with an invented time, so that the pipe and the comparison can be tried anywhere."""

    def eager_layer(self):
        return 350e-6

    def run(self, items):
        return 0.005 + 1e-6 * sum(tokens for _, tokens, _ in items)


class Gpu:
    """Packs the tokens of an iteration into one row, as engines do: one product per weight, then
    attention over sequences of different lengths (FlashAttention 2 as shipped with PyTorch), with
    decoding requests separate from prompts. Each running request has its own region of the cache;
    vLLM's blocks would only move its rows."""

    def __init__(self, slots, longest):
        import torch

        self.torch = torch
        torch.manual_seed(1)
        self.device = torch.device("cuda")
        opts = dict(device=self.device, dtype=torch.bfloat16)
        make = lambda *shape: torch.randn(*shape, **opts) * 0.02
        self.span = (longest + BLOCK - 1) // BLOCK * BLOCK
        self.slots = slots
        self.layers = [
            dict(qkv=make(HIDDEN + 2 * KV_HEADS * HEAD, HIDDEN), out=make(HIDDEN, HIDDEN).t(),
                 up=make(2 * FFN, HIDDEN), down=make(HIDDEN, FFN).t(),
                 cache=torch.zeros((slots + 1) * self.span, 2, KV_HEADS, HEAD, **opts))
            for _ in range(LAYERS)]
        self.embed = make(VOCAB, HIDDEN)
        self.head = make(VOCAB, HIDDEN)
        self.norm = torch.ones(HIDDEN, **opts)
        self.slot_of = {}
        self.sampled = torch.zeros(slots + 1, device=self.device, dtype=torch.long)
        self.graphs = {}
        self.next_parts = None
        gc.disable()  # a pause for garbage collection would be included in an iteration's time
        with torch.inference_mode():
            self.sampled = self.sampled.clone()
            for layer in self.layers:
                layer["cache"] = layer["cache"].clone()
            self.warm()

    def eager_layer(self):
        """Returns the minimum seconds of a layer in a step with a prompt, with so few tokens that only
        the host's launches take time. Measured before the run, on requests outside it."""
        torch, took = self.torch, []
        for _ in range(20):
            start = time.perf_counter()
            with torch.inference_mode():
                self.forward(self.padded([(0, 1, 16), (1, BLOCK, 0)]))
            torch.cuda.synchronize()
            took.append(time.perf_counter() - start)
        return sorted(took)[len(took) // 2] / LAYERS

    def sizes(self):
        """Captures decode graphs for these numbers of requests, as engines do."""
        return sorted({min(n, self.slots) for n in [1, 2, 4] + list(range(8, self.slots + 8, 8))})

    def warm(self):
        """Loads the kernels and captures the graphs before anything is timed."""
        torch = self.torch
        for count in self.sizes():
            place = self.place([(slot, 1, 15) for slot in range(count)], [])
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side), torch.inference_mode():
                for _ in range(3):
                    self.forward(place)
            torch.cuda.current_stream().wait_stream(side)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph), torch.inference_mode():
                self.forward(place)
                place["rows"].add_(1)
                place["used"].add_(1)
            self.graphs[count] = (graph, place)
        with torch.inference_mode():
            for tokens in range(BLOCK, 2049, BLOCK):
                each = min(tokens, self.span - 16)
                parts = [(slot, each, 16) for slot in range(min(self.slots - 1, tokens // each))]
                self.forward(self.padded(parts + [(self.slots - 1, 1, 16)]))
        torch.cuda.synchronize()

    def padded(self, parts):
        """Returns an iteration with prompts, padded to a multiple of 16 tokens in the spare region, as
        engines do, because a library searches for a kernel for each new shape."""
        decodes = [part for part in parts if part[1] == 1]
        prompts = [part for part in parts if part[1] > 1]
        missing = -sum(tokens for _, tokens, _ in parts) % BLOCK
        return self.place(decodes, prompts + [(self.slots, missing, 0)] * (missing > 0))

    def place(self, decodes, prompts):
        """Returns the positions of the tokens of (region, tokens, context) parts. Regions are in ascending
        order, so that for the kernel the start of each is a sum of lengths; it gets the used length of each."""
        torch = self.torch
        rows, source, last = [], [], []
        for slot, tokens, context in decodes + prompts:
            first = slot * self.span + context
            rows += range(first, first + tokens)
            source += [slot] * tokens
            last.append(len(rows) - 1)
        regions = [slot for slot, _, _ in decodes + prompts]
        starts, p_starts = range(len(decodes) + 1), [0]
        for _, tokens, _ in prompts:
            p_starts.append(p_starts[-1] + tokens)
        ends, used = self.extents(decodes)
        p_ends, p_used = self.extents(prompts)
        wide = self.sent([rows, source, last, regions], torch.int64)
        narrow = self.sent([starts, ends, used, p_starts, p_ends, p_used], torch.int32)
        names = ("rows", "source", "last", "regions", "starts", "ends", "used", "p_starts", "p_ends", "p_used")
        return dict(zip(names, wide[1] + narrow[1]), whole=(wide[0], narrow[0]), decodes=len(decodes),
                    longest=max([tokens for _, tokens, _ in prompts], default=0))

    def extents(self, parts):
        return ([slot * self.span for slot, _, _ in parts] + [(self.slots + 1) * self.span],
                [context + tokens for _, tokens, context in parts])

    def sent(self, lists, kind):
        """Makes one copy to the device and splits it into the lists again."""
        flat = self.torch.tensor([x for one in lists for x in one], dtype=kind, device=self.device)
        return flat, flat.split([len(one) for one in lists])

    def rms(self, x):
        return self.torch.nn.functional.rms_norm(x, (HIDDEN,), self.norm)

    def flash(self, q, cache, place, kind, longest):
        return self.torch.ops.aten._flash_attention_forward(
            q, cache[:, 0], cache[:, 1], place[kind + "starts"], place[kind + "ends"], longest, self.span,
            0.0, True, False, seqused_k=place[kind + "used"])[0]

    def attention(self, x, layer, place):
        torch, rows, first = self.torch, x.shape[0], place["decodes"]
        heads = torch.nn.functional.linear(self.rms(x), layer["qkv"]).view(rows, HEADS + 2 * KV_HEADS, HEAD)
        layer["cache"].index_copy_(0, place["rows"], heads[:, HEADS:].view(rows, 2, KV_HEADS, HEAD))
        q = heads[:, :HEADS]
        if first == rows:
            y = self.flash(q, layer["cache"], place, "", 1)
        elif first == 0:
            y = self.flash(q, layer["cache"], place, "p_", place["longest"])
        else:
            y = torch.cat([self.flash(q[:first], layer["cache"], place, "", 1),
                           self.flash(q[first:], layer["cache"], place, "p_", place["longest"])])
        return x.addmm_(y.view(rows, HIDDEN), layer["out"])

    def forward(self, place):
        f = self.torch.nn.functional
        x = self.embed[self.sampled[place["source"]]]
        for layer in self.layers:
            x = self.attention(x, layer, place)
            up, gate = f.linear(self.rms(x), layer["up"]).chunk(2, -1)
            x.addmm_(f.silu(gate).mul_(up), layer["down"])
        tokens = f.linear(self.rms(x[place["last"]]), self.head).argmax(-1)
        self.sampled.index_copy_(0, place["regions"], tokens)

    def run(self, items):
        torch = self.torch
        start = time.perf_counter()
        alive = {request for request, _, _ in items}
        # vLLM plans every running request in every iteration: a missing one has ended or was evicted.
        self.slot_of = {r: s for r, s in self.slot_of.items() if r in alive}
        held = set(self.slot_of.values())
        idle = [s for s in reversed(range(self.slots)) if s not in held]
        for request, _, _ in items:
            if request not in self.slot_of:
                self.slot_of[request] = idle.pop()
        parts = sorted((self.slot_of[request], tokens, context) for request, tokens, context in items)
        with torch.inference_mode():
            if all(tokens == 1 for _, tokens, _ in parts):
                self.replay(parts)
            else:
                self.forward(self.padded(parts))
                self.next_parts = None
            torch.cuda.synchronize()
        return time.perf_counter() - start

    def replay(self, parts):
        """Replays the smallest captured graph that fits; its unused rows write to the spare region. The graph
        ends by advancing every position by one, so unchanged requests need no update from the host."""
        count = next(n for n in self.sizes() if n >= len(parts))
        graph, place = self.graphs[count]
        if parts != self.next_parts:
            filled = parts + [(self.slots, 1, 0)] * (count - len(parts))
            for old, new in zip(place["whole"], self.place(filled, [])["whole"]):
                old.copy_(new)
        graph.replay()
        self.next_parts = [(slot, 1, context + 1) for slot, _, context in parts]


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


def simulated(arguments, eager_layer):
    command = [arguments.orrery, "probe", "serving", "--accelerator", arguments.accelerator,
               "--eager-layer", "%d" % round(eager_layer * 1e6)] + settings(arguments)
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
    eager_layer = executor.eager_layer()
    measured, end, code = live(arguments, executor)
    expected, expected_end = simulated(arguments, eager_layer)
    if code != 0:
        sys.exit("the policy ended with code %d" % code)
    equal = sum(a[1] == b[1] for a, b in zip(measured, expected))
    print("iteration,measured_s,simulated_s,decision_equal,decision")
    for i, ((took, decision), (guess, other)) in enumerate(zip(measured, expected)):
        print("%d,%.6f,%.6f,%d,%s" % (i, took, guess, decision == other, decision))
    print("# a layer with a prompt takes the host at least %.0f us" % (eager_layer * 1e6))
    print("# measured  " + end)
    print("# simulated " + expected_end)
    print("# decisions equal: %d of %d (simulated %d)" % (equal, len(measured), len(expected)))
    sys.exit(0 if equal == len(measured) == len(expected) else 1)


if __name__ == "__main__":
    main()
