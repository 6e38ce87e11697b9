// Search runs in a worker, which browsers refuse to pages that are opened from a disk (file://).
// There a hidden frame does its work: a window of its own, with the worker's script in it.
if (window.location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(script) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.appendChild(this.frame);
      const inside = this.frame.contentWindow;
      inside.postMessage = (data) => {
        const event = new MessageEvent("message", { data });
        this.dispatchEvent(event);
        if (this.onmessage) this.onmessage(event);
      };
      this.ready = new Promise((loaded) => {
        const tag = inside.document.createElement("script");
        tag.src = new URL(script, document.baseURI);
        tag.onload = loaded;
        inside.document.body.appendChild(tag);
      });
    }

    postMessage(data) {
      this.ready.then(() => {
        const inside = this.frame.contentWindow;
        inside.dispatchEvent(new inside.MessageEvent("message", { data }));
      });
    }

    terminate() {
      this.frame.remove();
    }
  };
}
