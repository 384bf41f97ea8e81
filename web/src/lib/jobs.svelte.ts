// Starts jobs on the server and follows them by server-sent events, or by polling if events fail.
import { describe, get, remove } from './api';
import type { Job } from './types';

const kPollMs = 700;

export function isOver(job: Job): boolean {
  return job.state === 'done' || job.state === 'failed' || job.state === 'cancelled';
}

export class JobFollower {
  job = $state.raw<Job | null>(null);
  failure = $state('');
  private events: EventSource | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;

  async start(ask: () => Promise<Job>): Promise<Job | null> {
    this.stop();
    this.failure = '';
    try {
      const job = await ask();
      this.job = job;
      this.follow(job.id);
      return job;
    } catch (error) {
      this.failure = describe(error);
      return null;
    }
  }

  follow(id: string) {
    this.stop();
    void this.look(id).then(() => {
      if (!this.job || isOver(this.job)) return;
      this.listen(id);
    });
  }

  // Cancels the job. The server keeps the best result so far and returns it with the job.
  async cancel() {
    if (!this.job) return;
    try {
      await remove(`jobs/${this.job.id}`);
      await this.look(this.job.id);
    } catch (error) {
      this.failure = describe(error);
    }
  }

  stop() {
    this.events?.close();
    this.events = null;
    clearTimeout(this.timer);
  }

  private listen(id: string) {
    if (typeof EventSource === 'undefined') return this.poll(id);
    const events = new EventSource(`/api/v1/jobs/${id}/events`);
    this.events = events;
    const take = (event: MessageEvent) => (this.job = JSON.parse(event.data) as Job);
    events.addEventListener('progress', take);
    events.addEventListener('done', (event) => {
      take(event as MessageEvent);
      this.stop();
      void this.look(id); // the event may omit the result; the job itself contains it
    });
    events.onerror = () => {
      this.stop();
      this.poll(id);
    };
  }

  private poll(id: string) {
    this.timer = setTimeout(async () => {
      await this.look(id);
      if (this.job && !isOver(this.job)) this.poll(id);
    }, kPollMs);
  }

  private async look(id: string) {
    try {
      this.job = await get(`jobs/${id}`);
    } catch (error) {
      this.failure = describe(error);
    }
  }
}
