#pragma once
// Renders on disk, so that the same render isn't computed twice. An entry is found by everything that a
// render is made of but the answers of its host: code, files, input, seed, clock, limits. Its questions are
// asked again, and the output is there only if the answers are the same. Entries are sealed with a key of the
// release's seed, which the cache doesn't hold: without the seed they say nothing and can't be forged.
//
//   <key>.asks     the questions of the render        <key of key and answers>.render   its output
//
// Nothing here fails its caller: a full disk, a damaged or a foreign file mean "not here". Any thread, many
// processes.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "abi/abi.h"
#include "base/event.h"
#include "base/fs.h"
#include "base/random.h"
#include "crypto/aead.h"
#include "crypto/digest.h"
#include "crypto/random_stream.h"

namespace mist::package {

/// A line that a guest told its user while it rendered.
struct LoggedLine {
  EventLevel level = EventLevel::Info;
  std::string text;
  friend bool operator==(const LoggedLine&, const LoggedLine&) = default;
};

struct CachedRender {
  abi::Output output;  ///< without its log
  std::vector<LoggedLine> lines;
};

/// The parts of a render, all but the answers.
struct RenderParts {
  crypto::Seed seed{};
  std::string_view code;      ///< digest of the module or engine
  std::string_view files;     ///< digest of what it sees at /package; empty: nothing
  std::string_view input;     ///< the input document
  std::string_view settings;  ///< clock and limits, in any fixed form
};

class RenderCache {
 public:
  static constexpr std::uint64_t kDefaultBytes = std::uint64_t{256} << 20;

  /// `directory` is made on first use (mode 0700). Both references outlive this.
  RenderCache(Path directory, std::uint64_t bytes, Random& random)
      : directory_(std::move(directory)), bytes_(bytes), random_(random) {}

  /// Answers a question of the render as its host would; an error ends the search.
  using Ask = std::function<Result<encoding::Value>(const encoding::Value& request)>;
  /// The answers' digests, in the order of the questions.
  using Answers = std::function<std::vector<crypto::Digest>()>;

  std::optional<CachedRender> find(const RenderParts& parts, const Ask& ask, const Answers& answers) const;
  void store(const RenderParts& parts, const std::vector<encoding::Value>& questions,
             const std::vector<crypto::Digest>& answers, const CachedRender& render) const;
  /// The next find() asks nothing, until such a render is stored again.
  void forget(const RenderParts& parts) const;

 private:
  std::optional<encoding::Value> read(const Path& file, const crypto::SealingKey& key) const;
  void write(const Path& file, const encoding::Value& value, const crypto::SealingKey& key) const;
  void bound() const;

  Path directory_;
  std::uint64_t bytes_;
  Random& random_;
};

}  // namespace mist::package
