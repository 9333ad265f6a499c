"""Cases of sweep_rows.txt by Sluice and its peers, for bench_sweep.py; see
worker.py."""

import models
import sweep_rows

VERSION = models.VERSION
set_threads = models.set_threads


class Sweep(models.Models):
    """Runs one case at a time."""

    def load(self, case, threads):
        """Prepare a case and run it; "" or why that is not possible."""
        model, self.feeds = sweep_rows.model_of(case)
        try:
            self.session = models.session_of(model, threads)
            self.results = self.session.run(None, self.feeds)
        except Exception as error:  # each library has its own
            lines = str(error).strip().splitlines()
            return (lines or [type(error).__name__])[0][:200]
        return ""


ROWS = {"sweeps": dict.fromkeys(("sluice", "onnxruntime", "openvino"),
                                lambda sizes: Sweep())}
