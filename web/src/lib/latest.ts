// Sends the newest request only: waits for a pause in the typing, aborts the request that a newer
// one replaces, and passes on only the newest answer.

export class Latest<In, Out> {
  private timer: ReturnType<typeof setTimeout> | undefined;
  private controller: AbortController | undefined;

  constructor(
    private readonly ask: (input: In, signal: AbortSignal) => Promise<Out>,
    private readonly done: (input: In, output: Out) => void,
    private readonly failed: (input: In, error: unknown) => void,
    private readonly pauseMs = 15,
  ) {}

  put(input: In, pauseMs = this.pauseMs) {
    this.cancel();
    if (pauseMs <= 0) void this.send(input);
    else this.timer = setTimeout(() => void this.send(input), pauseMs);
  }

  cancel() {
    clearTimeout(this.timer);
    this.controller?.abort();
    this.controller = undefined;
  }

  private async send(input: In) {
    const controller = new AbortController();
    this.controller = controller;
    try {
      const output = await this.ask(input, controller.signal);
      if (!controller.signal.aborted) this.done(input, output);
    } catch (error) {
      if (!controller.signal.aborted) this.failed(input, error);
    }
  }
}
