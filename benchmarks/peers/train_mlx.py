"""MLX: the time of its import."""

import peer_timing

peer_timing.arguments()
peer_timing.report(
    {"startup/import_ms": {"mlx": peer_timing.import_ms("mlx.core")}})
