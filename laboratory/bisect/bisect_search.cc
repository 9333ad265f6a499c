#include "sluice/laboratory/bisect/bisect_search.h"

#include <algorithm>

namespace sluice {

namespace {

class Searcher {
 public:
  explicit Searcher(const RangeSearch& search) : search_(search) {}

  RangeSearchResult Run() {
    if (search_.suspects > 0) Look(0, search_.suspects);
    std::sort(result_.found.begin(), result_.found.end(),
              [](const FoundRange& a, const FoundRange& b) {
                return a.begin < b.begin;
              });
    return result_;
  }

 private:
  RangeTrial Try(size_t begin, size_t end) {
    if (result_.trials >= search_.most_trials) {
      result_.complete = false;
      return {};
    }
    ++result_.trials;
    RangeTrial trial = search_.attempt(begin, end);
    result_.complete = result_.complete && trial.tried;
    return trial;
  }

  // Returns whether the range differs.
  bool Look(size_t begin, size_t end) {
    if (begin >= end) return false;
    const RangeTrial trial = Try(begin, end);
    if (!trial.differs) return false;
    if (end - begin == 1) {
      result_.found.push_back({begin, end});
      return true;
    }
    if (!trial.suspect) {
      LookAtHalves(begin, end);
      return true;
    }
    const size_t suspect = *trial.suspect;
    if (Try(suspect, suspect + 1).differs) {
      result_.found.push_back({suspect, suspect + 1});
      if (!search_.ordered) Look(begin, suspect);
    } else {
      LookAtHalves(begin, search_.ordered ? suspect + 1 : end);
      if (!search_.ordered) return true;
    }
    Look(suspect + 1, end);
    return true;
  }

  void LookAtHalves(size_t begin, size_t end) {
    const size_t middle = begin + (end - begin) / 2;
    const bool complete = result_.complete;
    bool differs = false;
    if (end - begin > 1) {
      differs = Look(begin, middle);
      differs = Look(middle, end) || differs;
    }
    if (!differs && result_.complete == complete) {
      result_.found.push_back({begin, end});
    }
  }

  const RangeSearch& search_;
  RangeSearchResult result_;
};

}  // namespace

RangeSearchResult Search(const RangeSearch& search) {
  return Searcher(search).Run();
}

}  // namespace sluice
