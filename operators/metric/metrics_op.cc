#include <algorithm>

#include "sluice/operators/registration.h"

namespace sluice {
namespace {

// Checks that an input is [N] or [N, 1] and returns its N merged with `rows`.
DimHandle MetricRows(const InferShapeContext& context,
                     const char* input,
                     const DimHandle& rows) {
  const ShapeHandle shape = context.WithRankAtLeast(context.input(input), 1);
  if (!shape.dims.rank_known()) return rows;
  if (shape.rank() > 1) {
    context.WithRank(shape, 2);
    context.WithValue(context.Dim(shape, 1), 1);
  }
  return context.Merge(rows, context.Dim(shape, 0));
}

void AucShape(InferShapeContext& context) {
  const auto predict = context.WithRank(context.input("Predict"), 2);
  DimHandle rows;
  if (predict.dims.rank_known()) rows = context.Dim(predict, 0);
  MetricRows(context, "Label", rows);
  const auto window = context.Attr<int64_t>("slide_steps");
  const DDim counts({std::max<int64_t>(window, 1),
                     context.Attr<int64_t>("num_thresholds") + 1});
  for (const char* counted : {"StatPos", "StatNeg"}) {
    context.Merge(context.input(counted), {counts, -1});
    context.SetOutput(std::string(counted) + "Out", counts);
  }
  context.SetOutput("AUC", InferShapeContext::Vector(1));
}

void AucSchema(OpSchema& op) {
  op.Doc(
      "The area under a curve of all thresholds of a binary classifier, from "
      "counts of positive and negative rows by score, which it updates. Scores "
      "are rounded down to multiples of 1 / num_thresholds; trapezoids connect "
      "the points of the curve. 0 while one of the two classes is missing.");
  op.TypeVar("T", {DType::kFloat32, DType::kFloat64});
  op.Input("Predict", "T",
           "[N, k]: scores from 0 to 1; the last column has those of the "
           "positive class. Checked when the op runs.");
  op.Input("Label", "int64", "[N] or [N, 1]: 0 for negative rows.");
  for (const char* kind : {"Pos", "Neg"}) {
    const std::string name = std::string("Stat") + kind;
    op.Input(name, "int64",
             "[max(slide_steps, 1), num_thresholds + 1]: the counted rows of "
             "earlier runs; zeros before the first.");
    op.Output(name + "Out", "int64", "The counts with those of this run.");
    op.Update(name + "Out", name);
  }
  op.Output("AUC", "float64", "[1]: the area.");
  op.Attr<std::string>("curve",
                       "ROC: true by false positive rate; PR: precision by "
                       "recall, from precision 1.")
      .Default(std::string("ROC"))
      .OneOf({"ROC", "PR"});
  op.Attr<int64_t>("num_thresholds", "How many steps scores have.")
      .Default(int64_t{4095})
      .AtLeast(1)
      .AtMost(1 << 24);
  op.Attr<int64_t>("slide_steps",
                   "Only this many runs count, the last ones; 0: all.")
      .Default(int64_t{0})
      .AtLeast(0)
      .AtMost(1 << 16);
  op.InferShape(AucShape);
}

void PrecisionRecallShape(InferShapeContext& context) {
  DimHandle rows = MetricRows(context, "Indices", {});
  rows = MetricRows(context, "Labels", rows);
  if (context.HasInput("Weights")) MetricRows(context, "Weights", rows);
  const DDim states({context.Attr<int64_t>("class_number"), 4});
  if (context.HasInput("StatesInfo")) {
    context.Merge(context.input("StatesInfo"), {states, -1});
  }
  context.SetOutput("BatchMetrics", InferShapeContext::Vector(6));
  context.SetOutput("AccumMetrics", InferShapeContext::Vector(6));
  context.SetOutput("AccumStatesInfo", states);
}

void PrecisionRecallSchema(OpSchema& op) {
  op.Doc(
      "Precision, recall and F1 of a classifier: macro-averaged (the means of "
      "the classes' ones), then micro-averaged (of the summed counts). "
      "Precision and recall of no rows are 1; F1 is 0 where both are 0.");
  op.Input("Indices", "int64", "[N] or [N, 1]: predicted classes.");
  op.Input("Labels", "int64",
           "[N] or [N, 1]: the right ones; both are checked when the op runs.");
  op.Input("Weights", "float32", "[N] or [N, 1]: of the rows; 1 if left out.",
           {.optional = true});
  op.Input("StatesInfo", "float32",
           "[C, 4]: counts of earlier rows; 0 if left out.",
           {.optional = true});
  op.Output("BatchMetrics", "float64",
            "[6]: macro precision, recall, F1, then micro, of these rows.");
  op.Output("AccumMetrics", "float64", "[6]: those of all rows.");
  op.Output("AccumStatesInfo", "float32",
            "[C, 4]: true positives, false positives, true negatives and false "
            "negatives of each class, of all rows.");
  op.Attr<int64_t>("class_number", "C.").AtLeast(1).AtMost(1 << 24);
  op.InferShape(PrecisionRecallShape);
  op.NoGradient("it counts right answers, which change by jumps");
}

// Checks that an input is [B, T] or [B, T, 1], and a length input [B].
DimHandle MetricSequences(const InferShapeContext& context,
                          const char* input,
                          const char* length,
                          DimHandle batch) {
  const ShapeHandle shape = context.WithRankAtLeast(context.input(input), 2);
  if (shape.dims.rank_known()) {
    if (shape.rank() > 2) {
      context.WithRank(shape, 3);
      context.WithValue(context.Dim(shape, 2), 1);
    }
    batch = context.Merge(batch, context.Dim(shape, 0));
  }
  if (!context.HasInput(length)) return batch;
  const auto lengths = context.WithRank(context.input(length), 1);
  return context.Merge(batch, context.Dim(lengths, 0));
}

void EditDistanceShape(InferShapeContext& context) {
  DimHandle batch = MetricSequences(context, "Hyps", "HypsLength", {});
  batch = MetricSequences(context, "Refs", "RefsLength", batch);
  context.SetOutput("Out", {batch, 1});
  context.SetOutput("SequenceNum", InferShapeContext::Vector(1));
}

void EditDistanceSchema(OpSchema& op) {
  op.Doc(
      "The Levenshtein distance of each pair of sequences: how many tokens "
      "have to be inserted, deleted or replaced.");
  op.TypeVar("T", IndexDTypes());
  for (const char* name : {"Hyps", "Refs"}) {
    op.Input(name, "T", "[B, T] or [B, T, 1]: sequences of tokens.");
    op.Input(std::string(name) + "Length", "int64",
             "[B]: their lengths, checked when the op runs; T if left out.",
             {.optional = true});
  }
  op.Output("Out", "float32", "[B, 1]: the distances.");
  op.Output("SequenceNum", "int64", "[1]: B.");
  op.Attr<bool>("normalized",
                "Divides by the length of the sequence in Refs without ignored "
                "tokens, which must not be 0.")
      .Default(false);
  op.Attr<Ints>("ignored_tokens", "Tokens that are left out first.")
      .Default(Ints());
  op.InferShape(EditDistanceShape);
}

void ChunkEvalShape(InferShapeContext& context) {
  const DimHandle batch =
      MetricSequences(context, "Inference", "SeqLength", {});
  MetricSequences(context, "Label", "SeqLength", batch);
  context.Merge(context.input("Inference"), context.input("Label"));
  for (const char* name : {"Precision", "Recall", "F1Score", "NumInferChunks",
                           "NumLabelChunks", "NumCorrectChunks"}) {
    context.SetOutput(name, InferShapeContext::Vector(1));
  }
}

void ChunkEvalSchema(OpSchema& op) {
  op.Doc(
      "Compares the chunks (phrases) of predicted and of right tags. A tag is "
      "chunk type * tags per type + position; chunk type num_chunk_types is "
      "outside of any chunk. Positions are, by scheme, IOB: begin, inside; "
      "IOE: inside, end; IOBES: begin, inside, end, single; plain: only one. "
      "The rules where a sequence of tags breaks its scheme are those of "
      "conlleval, as in Fluid.");
  op.TypeVar("T", {DType::kInt64});
  op.Input("Inference", "T", "[B, T] or [B, T, 1]: the predicted tags.");
  op.Input("Label", "T",
           "In the same shape: the right tags; both are checked when the op "
           "runs.");
  op.Input("SeqLength", "int64", "[B]: from 0 to T; T if left out.",
           {.optional = true});
  op.Output("Precision", "float32", "[1]: of predicted chunks; 0 of none.");
  op.Output("Recall", "float32", "[1]: of right chunks; 0 of none.");
  op.Output("F1Score", "float32", "[1]: their harmonic mean, or 0.");
  op.Output("NumInferChunks", "int64", "[1]: predicted chunks.");
  op.Output("NumLabelChunks", "int64", "[1]: right chunks.");
  op.Output("NumCorrectChunks", "int64", "[1]: chunks that are both.");
  op.Attr<int64_t>("num_chunk_types", "How many types of chunks there are.")
      .AtLeast(1)
      .AtMost(1 << 30);
  op.Attr<std::string>("chunk_scheme", "IOB, IOE, IOBES or plain.")
      .Default(std::string("IOB"))
      .OneOf({"IOB", "IOE", "IOBES", "plain"});
  op.Attr<Ints>("excluded_chunk_types", "Types that do not count.")
      .Default(Ints());
  op.InferShape(ChunkEvalShape);
}

}  // namespace

REGISTER_OPERATOR(auc, AucSchema);
REGISTER_OPERATOR(precision_recall, PrecisionRecallSchema);
REGISTER_OPERATOR(edit_distance, EditDistanceSchema);
REGISTER_OPERATOR(chunk_eval, ChunkEvalSchema);

}  // namespace sluice
