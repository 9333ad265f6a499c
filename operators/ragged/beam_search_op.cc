#include <algorithm>

#include "sluice/operators/ragged/sequences.h"

namespace sluice {
namespace {

// Hypotheses that the outputs have room for: more are refused.
constexpr int64_t kMost = int64_t{1} << 40;

// Checks that an input is [N] or [N, 1].
void RequireColumn(const InferShapeContext& context,
                   const char* input,
                   int64_t rows) {
  const DDim dims = context.WithRankAtLeast(context.input(input), 1);
  context.Require(
      !dims.known() || rows < 0 || (dims[0] == rows && dims.numel() == rows),
      "beam_search.rows",
      "input {} must be [{}, 1], a number for each row of Scores, "
      "got {}",
      input, rows, dims);
}

// Returns the number of sources: -1 if it is unknown.
int64_t CountSources(const InferShapeContext& context, int64_t rows) {
  if (context.HasInput("SourceOffsets")) {
    SequenceCount(context, "Offsets", "PreIds");
    return SequenceCount(context, "SourceOffsets", "Offsets");
  }
  if (!context.HasInput("Offsets")) return rows;
  return SequenceCount(context, "Offsets", "PreIds");
}

int64_t CountHypotheses(const InferShapeContext& context, int64_t sources) {
  const auto beams = context.Attr<int64_t>("beam_size");
  context.Require(sources < kMost / beams, "beam_search.size",
                  "{} sources with beam_size = {} are too many", sources,
                  beams);
  return sources < 0 ? -1 : sources * beams;
}

void BeamSearchShape(InferShapeContext& context) {
  const DDim scores = context.WithRankAtLeast(context.input("Scores"), 1);
  if (context.HasInput("Ids")) {
    context.Merge(context.input("Ids"), {scores, -1});
  }
  const int64_t rows = scores.rank_known() ? scores[0] : kUnknownDim;
  RequireColumn(context, "PreIds", rows);
  RequireColumn(context, "PreScores", rows);
  const int64_t sources = CountSources(context, rows);
  const int64_t most = CountHypotheses(context, sources);
  context.SetOutput("SelectedIds", {most, 1});
  context.SetOutput("SelectedScores", {most, 1});
  context.SetOutput("ParentIdx", DDim{most});
  context.SetOutput("OutOffsets",
                    DDim{most < 0 || rows < 0 ? -1 : std::max(most, rows) + 1});
  context.SetOutput("OutSourceOffsets", DDim{sources < 0 ? -1 : sources + 1});
}

void BeamAttributes(OpSchema& op) {
  op.Attr<int64_t>("beam_size", "The most hypotheses of a source.")
      .AtLeast(1)
      .AtMost(1 << 20);
  op.Attr<int64_t>("end_id", "The token that ends a hypothesis.");
}

void BeamSearchSchema(OpSchema& op) {
  op.Doc(
      "A step of a beam search. The rows of a source are its hypotheses so "
      "far. Each has as candidates what its row of Ids and Scores names, or, "
      "if it ended, only itself. Of all candidates of a source the beam_size "
      "with the largest scores are selected: equal ones from the first on; NaN "
      "is larger than every number. They come by the row that they go on from, "
      "and then from the best on. A source selects nothing once all that it "
      "would select had ended before.");
  op.TypeVar("T", {DType::kFloat32, DType::kFloat64});
  op.TypeVar("S", IndexDTypes());
  op.Input("PreIds", "S", "[N, 1]: the last tokens.");
  op.Input("PreScores", "T",
           "[N, 1]: the scores of the hypotheses, for those that ended and "
           "without is_accumulated.");
  op.Input("Ids", "S",
           "[N, K]: the tokens of the candidates; 0 to K - 1 if left out.",
           {.optional = true});
  op.Input("Scores", "T", "[N, K]: the scores of the candidates.");
  op.Input("Offsets", "int64",
           "[B + 1]: source b has rows Offsets[b] to Offsets[b + 1]. With "
           "SourceOffsets: [M + 1], of groups of rows. Each row is a source of "
           "its own if left out.",
           {.optional = true, .host = true});
  op.Input("SourceOffsets", "int64",
           "[B + 1]: source b has groups SourceOffsets[b] to SourceOffsets[b + "
           "1].",
           {.optional = true, .host = true});
  op.Output("SelectedIds", "S", "[B * beam_size, 1]: the tokens.");
  op.Output("SelectedScores", "T", "[B * beam_size, 1]: the scores.");
  op.Output("ParentIdx", "int64",
            "[B * beam_size]: the row of PreIds that each goes on from; "
            "padding repeats the last one.");
  op.Output("OutOffsets", "int64",
            "[max(N, B * beam_size) + 1]: from row n go on OutOffsets[n] to "
            "OutOffsets[n + 1].");
  op.Output("OutSourceOffsets", "int64",
            "[B + 1]: source b has the rows OutSourceOffsets[b] to "
            "OutSourceOffsets[b + 1] of PreIds.");
  BeamAttributes(op);
  op.Attr<bool>("is_accumulated",
                "Scores are those of whole hypotheses; false: probabilities, "
                "whose logarithms are added to PreScores.")
      .Default(true);
  for (const char* rows : {"PreIds", "PreScores", "Ids", "Scores"}) {
    op.Ragged(rows, "Offsets");
  }
  op.Ragged("Offsets", "SourceOffsets");
  op.Ragged("SelectedIds", "OutOffsets");
  op.Ragged("SelectedScores", "OutOffsets");
  op.Ragged("OutOffsets", "OutSourceOffsets");
  op.InferShape(BeamSearchShape);
  op.NoGradient("it selects, and a selection changes by jumps");
}

// Returns the steps, rows and so on of [steps, N] or [steps, N, 1].
void RequireSteps(const InferShapeContext& context,
                  const char* input,
                  int64_t steps) {
  const DDim dims = context.WithRankAtLeast(context.input(input), 2);
  if (!dims.rank_known()) return;
  context.Require(steps < 0 || dims[0] < 0 || dims[0] == steps,
                  "beam_search_decode.steps",
                  "input {} {} has another number of steps than Ids, {}", input,
                  dims, steps);
}

void DecodeShape(InferShapeContext& context) {
  const DDim ids = context.WithRankAtLeast(context.input("Ids"), 2);
  context.Merge(context.input("Scores"), {ids, -1});
  context.Require(!ids.known() || ids.numel() == ids[0] * ids[1],
                  "beam_search_decode.width",
                  "input Ids must be [steps, N, 1], got {}", ids);
  const int64_t steps = ids.rank_known() ? ids[0] : kUnknownDim;
  RequireSteps(context, "Offsets", steps);
  RequireSteps(context, "SourceOffsets", steps);
  if (context.HasInput("Length")) {
    const DDim length = context.input("Length");
    context.Require(!length.known() || length.numel() == 1,
                    "beam_search_decode.length",
                    "input Length must have one element, got {}", length);
  }
  context.WithRank(context.input("Offsets"), 2);
  const ShapeHandle offsets =
      context.WithRank(context.input("SourceOffsets"), 2);
  const int64_t ends = context.Dim(offsets, 1);
  context.Require(ends != 0, "beam_search_decode.no_offset",
                  "input SourceOffsets {} has no offsets; expected at least "
                  "the offset 0",
                  offsets.dims);
  const int64_t most = CountHypotheses(context, ends < 0 ? -1 : ends - 1);
  context.Require(most < 0 || steps < 0 || most <= kMost / (steps + 1),
                  "beam_search_decode.size",
                  "{} hypotheses of {} steps are too many", most, steps);
  const int64_t words = most < 0 || steps < 0 ? -1 : most * steps;
  context.SetOutput("SentenceIds", DDim{words});
  context.SetOutput("SentenceScores", DDim{words});
  context.SetOutput("OutOffsets", DDim{most < 0 ? -1 : most + 1});
  context.SetOutput("OutSourceOffsets", DDim{ends});
}

void DecodeSchema(OpSchema& op) {
  op.Doc(
      "The hypotheses that the steps of a beam search found. Those of a source "
      "are what it selected in the last step in which it selected any, from "
      "the best score on; equal ones in their order. Each is followed back to "
      "the first step. Of several end tokens in a row at its end one is kept, "
      "the last.");
  op.TypeVar("T", {DType::kFloat32, DType::kFloat64});
  op.TypeVar("S", IndexDTypes());
  op.Input("Ids", "S", "[steps, N, 1]: SelectedIds of each step.");
  op.Input("Scores", "T", "[steps, N, 1]: SelectedScores of each step.");
  op.Input("Offsets", "int64",
           "[steps, M + 1]: OutOffsets of each step: the rows of Ids that go "
           "on from each row of the step before.",
           {.host = true});
  op.Input("SourceOffsets", "int64",
           "[steps, B + 1]: OutSourceOffsets of each step.", {.host = true});
  op.Input("Length", "int64",
           "One element: how many steps there are; all if left out.",
           {.optional = true, .host = true});
  op.Output("SentenceIds", "S",
            "[steps * B * beam_size]: the tokens of all hypotheses.");
  op.Output(
      "SentenceScores", "T",
      "[steps * B * beam_size]: the score that each had with this token.");
  op.Output("OutOffsets", "int64",
            "[B * beam_size + 1]: what cuts the tokens into hypotheses.");
  op.Output("OutSourceOffsets", "int64",
            "[B + 1]: what cuts the hypotheses into sources.");
  BeamAttributes(op);
  op.Ragged("SentenceIds", "OutOffsets");
  op.Ragged("SentenceScores", "OutOffsets");
  op.Ragged("OutOffsets", "OutSourceOffsets");
  op.InferShape(DecodeShape);
  op.NoGradient("it selects, and a selection changes by jumps");
}

}  // namespace

REGISTER_OPERATOR(beam_search, BeamSearchSchema);
REGISTER_OPERATOR(beam_search_decode, DecodeSchema);

}  // namespace sluice
