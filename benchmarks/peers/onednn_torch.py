"""PyTorch: a convolution, batch norm and relu, unchanged and with the batch
norm folded; bfloat16 with --half-mean."""

import peer_timing

options = peer_timing.arguments()
import conv_bn_relu  # noqa: E402
import torch  # noqa: E402  (after the thread variables)
from torch.nn.utils.fusion import fuse_conv_bn_eval  # noqa: E402

torch.set_num_threads(options.threads)
C = conv_bn_relu.CHANNELS
image = torch.from_numpy(conv_bn_relu.image()).permute(0, 3, 1, 2)
conv = torch.nn.Conv2d(C, C, 3, padding=1, bias=False)
norm = torch.nn.BatchNorm2d(C, eps=1.0)
filter_, *moments = map(torch.from_numpy, conv_bn_relu.weights())
with torch.no_grad():
    conv.weight.copy_(filter_)
    for target, value in zip(
            (norm.weight, norm.bias, norm.running_mean, norm.running_var),
            moments):
        target.copy_(value)
plain = torch.nn.Sequential(conv, norm, torch.nn.ReLU()).eval()
folded = torch.nn.Sequential(fuse_conv_bn_eval(conv.eval(), norm.eval()),
                             torch.nn.ReLU())


def milliseconds(peer, network, x, mean=None, tolerance=1e-3):
    with torch.inference_mode():
        if mean is not None:
            conv_bn_relu.check(peer, network(x).float(), mean, tolerance)
        return 1e3 * peer_timing.median_seconds(lambda: network(x),
                                                seconds=options.seconds)


LAST = torch.channels_last
rows = {f"infer/conv_bn_relu/f32/t{options.threads}": {
    "torch": milliseconds("torch", plain, image.contiguous(), options.mean)}}
image = image.contiguous(memory_format=LAST)
f32 = rows[f"infer/conv_bn_relu/f32/t{options.threads}"]
for name, network in (("torch_channels_last", plain),
                      ("torch_channels_last_folded", folded)):
    f32[name] = milliseconds(name, network.to(memory_format=LAST), image,
                             options.mean)
if options.half_mean is not None:
    half = torch.bfloat16
    # Ours uses the filter unchanged, and a ramp as bias.
    ours = torch.nn.Conv2d(C, C, 3, padding=1)
    with torch.no_grad():
        ours.weight.copy_(filter_)
        ours.bias.copy_(moments[0])
    rows[f"infer/conv_bn_relu/bf16/t{options.threads}"] = {
        "torch_channels_last": milliseconds(
            "torch", plain.to(half), image.to(half)),
        "torch_channels_last_folded": milliseconds(
            "torch",
            torch.nn.Sequential(ours, torch.nn.ReLU()).eval()
            .to(half, memory_format=LAST),
            image.to(half), options.half_mean, 2e-2),
    }
peer_timing.report(rows)
