// Whether the window is as narrow as a phone's. On such a screen the design is read-only.
const kPhone = '(max-width: 600px)'; // the same width as in app.css

export class NarrowScreen {
  narrow = $state(false);

  // Call it while a component is set up.
  constructor() {
    const media = window.matchMedia(kPhone);
    this.narrow = media.matches;
    $effect(() => {
      const put = () => (this.narrow = media.matches);
      media.addEventListener('change', put);
      return () => media.removeEventListener('change', put);
    });
  }
}
