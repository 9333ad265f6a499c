"""PyTorch's ops for the rows of bench_cuda_kernels --list, with the same
inputs, computed by their formula."""

import torch
from torch.nn import functional as F

CHUNK = 1 << 22  # elements filled at once


def fill(dims, dtype, rule, device):
    """The tensor that FillTensor (benchmarks/cuda/device_kernels.h) fills."""
    count = 1
    for size in dims:
        count *= size
    out = torch.empty(count, dtype=getattr(torch, dtype), device=device)
    for begin in range(0, count, CHUNK):
        end = min(begin + CHUNK, count)
        out[begin:end] = _elements(begin, end, rule, device)
    return out.reshape(dims)


def _elements(begin, end, rule, device):
    index = torch.arange(begin, end, dtype=torch.int64, device=device)
    bits = 0xFFFFFFFF
    hashed = (index * 2654435761 + rule["seed"] * 40503) & bits
    hashed ^= hashed >> 16
    hashed = (hashed * 0x45D9F3B) & bits
    hashed ^= hashed >> 16
    unit = (hashed >> 8).double() / 2.0**24
    low, high = rule["low"], rule["high"]
    if rule["kind"] == "uniform":
        return low + (high - low) * unit
    if rule["kind"] == "index":
        return low + torch.floor((high - low) * unit)
    start = -(-high // 2)
    return torch.floor(high / 2 * unit) + start * (index % 2)


def weighted_sums(tensor):
    """The two sums of an output in bench_cuda_kernels."""
    values = tensor.detach().double().flatten().cpu()
    weights = 1 + (torch.arange(values.numel()) % 61).double() / 61
    terms = weights * values
    return terms.sum().item(), terms.abs().sum().item()


def named(name, function):
    """An op with one output."""
    return lambda x, at: {name: function(x, at)}


def binary(function):
    return named("Out", lambda x, at: function(x["X"], x["Y"]))


def unary(function):
    return named("Out", lambda x, at: function(x["X"]))


def adam(x, at):
    """Adam in place, as one kernel."""
    step = torch.full((), 1.0, device=x["Param"].device)
    torch._fused_adam_(
        [x["Param"]], [x["Grad"]], [x["Moment1"]], [x["Moment2"]], [], [step],
        lr=0.001, beta1=at["beta1"], beta2=at["beta2"], weight_decay=0.0,
        eps=at["epsilon"], amsgrad=False, maximize=False)
    return {"ParamOut": x["Param"]}


def batch_norm(x, at):
    return {"Y": F.batch_norm(x["X"], None, None, x["Scale"], x["Bias"], True,
                              0.0, at["epsilon"])}


def cross_entropy(x, at):
    loss = F.cross_entropy(x["Logits"], x["Label"].flatten(), reduction="none")
    return {"Loss": loss[:, None]}


def conv2d(x, at):
    return {"Output": F.conv2d(x["Input"], x["Filter"], None, at["strides"],
                               at["paddings"])}


def crop(x, at):
    out = x["X"]
    for axis, (begin, size) in enumerate(zip(at["offsets"], at["shape"])):
        out = out.narrow(axis, begin, size)
    return {"Out": out.contiguous()}


def maxout(x, at):
    n, c, h, w = x["X"].shape
    grouped = x["X"].view(n, c // at["groups"], at["groups"], h, w)
    return {"Out": grouped.max(2).values}


def momentum(x, at):
    velocity = torch.add(x["Grad"], x["Velocity"], alpha=at["mu"])
    return {"ParamOut": torch.sub(x["Param"], velocity, alpha=x["rate"]),
            "VelocityOut": velocity}


def pool2d(x, at):
    pool = F.max_pool2d if at["pooling_type"] == "max" else F.avg_pool2d
    return {"Out": pool(x["X"], at["ksize"], at["strides"], at["paddings"])}


def reduce_sum(x, at):
    return {"Out": x["X"].sum(at["dim"]) if at["dim"] else x["X"].sum()}


def softmax(x, at):
    return {"Out": torch.softmax(x["X"], at["axis"])}


def add_up(x, at):
    out = x["X"]
    for name, value in x.items():
        if name.startswith("X["):
            out = out + value
    return {"Out": out}


def top_k(x, at):
    out = torch.topk(x["X"], at["k"])
    return {"Out": out.values, "Indices": out.indices}


def transpose(x, at):
    return {"Out": x["X"].permute(at["axis"]).contiguous()}


def made(function):
    """An op that only writes; `like` is an empty tensor for its result."""
    return named("Out", lambda x, at: function(x["like"], at))


# By op: inputs by variable name and attributes -> outputs by argument.
OPS = {
    "abs": unary(torch.abs),
    "adam": adam,
    "assign": unary(torch.clone),
    "batch_norm": batch_norm,
    "bias_add": named("Out", lambda x, at: x["X"] + x["Bias"][:, None, None]),
    "cast": unary(torch.Tensor.double),
    "concat": named("Out", lambda x, at: torch.cat([x["X"], x["X[1]"]],
                                                   at["axis"])),
    "conv2d": conv2d,
    "crop": crop,
    "dropout": unary(F.dropout),
    "elementwise_add": binary(torch.add),
    "elementwise_div": binary(torch.div),
    "elementwise_mul": binary(torch.mul),
    "elementwise_sub": binary(torch.sub),
    "exp": unary(torch.exp),
    "fill_constant": made(lambda out, at: out.fill_(at["value"])),
    "gather": named("Out", lambda x, at: torch.index_select(
        x["X"], at["axis"], x["Index"])),
    "gaussian_random": made(lambda out, at: out.normal_()),
    "log": unary(torch.log),
    "lookup_table": named("Out", lambda x, at: F.embedding(
        x["Ids"].flatten(), x["W"])),
    "manhattan_distance": binary(lambda x, y: torch.cdist(x, y, p=1.0)),
    "matmul": binary(torch.matmul),
    "maxout": maxout,
    "mean": unary(torch.mean),
    "momentum": momentum,
    "pool2d": pool2d,
    "reduce_sum": reduce_sum,
    "relu": unary(torch.relu),
    "reshape": unary(lambda x: x.flatten().clone()),
    "scale": named("Out", lambda x, at: x["X"] * at["scale"]),
    "sgd": named("ParamOut", lambda x, at: torch.sub(
        x["Param"], x["Grad"], alpha=x["rate"])),
    "sigmoid": unary(torch.sigmoid),
    "softmax": softmax,
    "softmax_with_cross_entropy": cross_entropy,
    "sqrt": unary(torch.sqrt),
    "square": unary(torch.square),
    "sum": add_up,
    "tanh": unary(torch.tanh),
    "top_k": top_k,
    "transpose": transpose,
    "uniform_random": made(lambda out, at: out.uniform_(at["min"], at["max"])),
}
# PyTorch has no single op for these.
ABSENT = {
    "average_embedding_mask",
    "discriminative_loss",
    "quantize_and_dequantize",
}
# Their results are random, or continue from the last run.
NOT_COMPARED = {"adam", "dropout", "gaussian_random", "uniform_random"}


def prepare(row, device):
    """Returns a function that computes the row's op and returns the tensors by
    the name of the row's outputs. Raises KeyError for an op that is not
    described here."""
    op = OPS[row["op"]]
    inputs = {v["name"]: fill(v["dims"], v["dtype"], v["fill"], device)
              for v in row["inputs"]}
    if "LearningRate" in inputs:
        inputs["rate"] = inputs["LearningRate"].item()
    attributes = row["attributes"]
    if not row["gradient"]:
        if not inputs:
            dims = row["outputs"][0]["dims"]
            inputs["like"] = torch.empty(dims, device=device)
        return lambda: op(inputs, attributes)
    wanted = [v["name"] for v in row["outputs"]]
    sources = [name.removesuffix("@GRAD") for name in wanted]
    for name in sources:
        inputs[name].requires_grad_()
    computed = op(inputs, attributes)
    outputs, grads = [], []
    for v in row["gradient_inputs"]:
        output = computed.get(v["name"].removesuffix("@GRAD"))
        if output is not None:
            outputs.append(output)
            grads.append(fill(v["dims"], v["dtype"], v["fill"], device)
                         .reshape(output.shape))
    leaves = [inputs[name] for name in sources]

    def call():
        found = torch.autograd.grad(outputs, leaves, grads, retain_graph=True)
        return dict(zip(wanted, found))

    return call
