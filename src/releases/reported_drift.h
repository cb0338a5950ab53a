#pragma once
// The drift that an Event reported last: an Event is written when the drift of a Release changes, not at each
// look. The status remembers that, by a digest. A server with the CRD of an older operator has no field for
// the digest; there, the digests are remembered as long as the operator runs, and after a restart a drift
// that the condition Drifted shows counts as reported. Any thread.

#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "encoding/value.h"

namespace mist::releases {

using encoding::Value;

class ReportedDrift {
 public:
  /// Whether the drift with that digest isn't the one that an Event reported last. `release`: the Release,
  /// with the status that it has.
  bool is_news(const Value& release, std::string_view digest) const;
  /// That drift is what is there now. Empty: nothing has drifted, or the Release goes.
  void note(const Value& release, std::string_view digest);

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::string, std::less<>> digests_;  // by the uid of a Release
};

}  // namespace mist::releases
