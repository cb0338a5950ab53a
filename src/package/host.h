#pragma once
// Requests that a package's guest may make while it renders: secrets, other packages, log lines, charts of a
// kustomization. Keeps the answers, because they are part of what the render was made from. One render, one
// thread.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "abi/abi.h"
#include "base/event.h"
#include "crypto/digest.h"
#include "package/lookup_pattern.h"
#include "package/render_cache.h"
#include "package/secrets.h"

namespace mist::package {

/// A request with its answer, both only as a digest: SHA-256 of the request's canonical JSON and the
/// answer's, each behind its length.
struct Exchange {
  std::string operation;
  crypto::Digest digest;
};

/// The secrets of a render and of all packages that it calls: none of them is printed by any of them, and
/// none has two forms.
struct SharedSecrets {
  std::map<std::string, SecretRequest> asked;  ///< by package, install and name
  std::map<std::string, SecretString> values;  ///< the same, and those of looked_up that may stand in texts
  std::map<std::string, SecretString> looked_up = {};  ///< values_of_secrets() of what was looked up

  /// From now on these are hidden too.
  void hide(const std::map<std::string, SecretString>& more);
  /// Hides `values`; null: secrets were added between so many texts that building it again costs too much.
  const TextMask* mask();

  /// Bytes of secrets of which one render builds masks.
  static constexpr std::size_t kMostMasked = std::size_t{64} << 20;
  std::size_t bytes_of_masks() const { return built_; }

 private:
  friend class Host;
  bool changed_ = true;    // `values`, since mask_ was built
  std::size_t built_ = 0;  // bytes
  TextMask mask_;
};

/// The result that a called package gave its caller (package/calls.h).
struct CallAnswer {
  Value value;
  std::map<std::string, SecretString> secrets = {};  ///< its own and those of the packages that it called
  std::vector<Exchange> asked = {};
  std::uint64_t drawn = 0;
};

class Host final : public abi::HostServices {
 public:
  static constexpr std::size_t kMostLines = 200;     ///< of the log of one render
  static constexpr std::size_t kLongestLine = 4096;  ///< bytes
  static constexpr std::size_t kMostStreams = 10'000;
  static constexpr std::size_t kLongestStream = 1024;  ///< bytes of a name

  /// `events` hears the log lines and outlives this.
  Host(SecretScope scope, EventSink& events,
       std::shared_ptr<SharedSecrets> shared = std::make_shared<SharedSecrets>())
      : scope_(std::move(scope)), events_(events), shared_(std::move(shared)) {}

  /// Answers `lookup` of this package; without it there are no objects.
  void answer_lookup(Lookup lookup, LookupAsker asker) {
    lookup_ = std::move(lookup);
    asker_ = std::move(asker);
  }
  /// A lookup that wasn't granted: the render fails, whatever the guest made of that. Null: there was none.
  const Error* refused() const { return refused_ ? &*refused_ : nullptr; }
  /// `memory_bytes`: of the kustomization's engine, which waits.
  using Charts = std::function<Result<Value>(const Value& request, std::uint64_t memory_bytes)>;
  /// Answers `chart.render` (package/chart_answers.h); without it that is refused.
  void answer_charts(Charts charts) { charts_ = std::move(charts); }

  /// `memory_bytes`: of the caller, which waits.
  using Calls = std::function<Result<CallAnswer>(const Value& request, std::uint64_t memory_bytes)>;
  /// Answers `package.call` (package/calls.h); without it that is refused.
  void answer_calls(Calls calls) { calls_ = std::move(calls); }

  /// The recorded questions, in the order of their first time: whoever asks them again and gets the same
  /// answers may take the same render.
  const std::vector<Value>& questions() const { return questions_; }
  /// False if a question that would have been recorded got an error: that render can't be repeated.
  bool repeatable() const { return repeatable_; }
  /// The digests of what it answered to them.
  std::vector<crypto::Digest> answers() const;
  /// Shows no log line before show_held(): one may hold a secret of which the guest tells only later.
  void hold_lines() { holds_lines_ = true; }
  void show_held();
  /// The guest's messages to its user, as they were shown.
  const std::vector<LoggedLine>& lines() const { return shown_; }
  /// Shows what a guest told earlier.
  void show(const std::vector<LoggedLine>& lines);

  /// For GuestSystem::stream: what random.stream switches.
  std::shared_ptr<const std::string> stream() const { return stream_; }

  Result<Value> answer(std::string_view operation, const Value& request) override;
  void guest_waits_with(std::uint64_t memory_bytes) override { waits_with_ = memory_bytes; }

  /// Random bytes that charts and called packages drew.
  std::uint64_t drawn() const { return drawn_; }
  const std::map<std::string, SecretString>& secrets() const { return secrets_; }
  /// Each question once, in the order of its first time, then those that only called packages asked.
  std::vector<Exchange> take_exchanges();

 private:
  friend struct HostOperations;

  Result<Value> secret_get(const Value& request);
  Result<Value> secret_hide(const Value& request);
  Result<Value> log(const Value& request);
  void say(EventLevel level, std::string_view message);
  Result<Value> random_stream(const Value& request);
  Result<Value> chart_render(const Value& request);
  Result<Value> package_call(const Value& request);
  Result<Value> lookup(const Value& request);

  SecretScope scope_;
  EventSink& events_;
  std::shared_ptr<SharedSecrets> shared_;
  std::map<std::string, SecretString> secrets_;  // by name: what was answered
  std::vector<Exchange> exchanges_;
  std::vector<Value> questions_;  // of exchanges_
  std::vector<LoggedLine> shown_;
  std::vector<LoggedLine> held_;  // as the guest wrote them
  bool holds_lines_ = false;
  Lookup lookup_;
  LookupAsker asker_;
  std::optional<Error> refused_;
  Charts charts_;
  Calls calls_;
  std::vector<Exchange> nested_;  // of called packages
  std::uint64_t drawn_ = 0;
  std::uint64_t waits_with_ = 0;  // bytes of memory
  bool repeatable_ = true;
  std::set<crypto::Digest> known_;         // of exchanges_
  std::set<crypto::Digest> known_nested_;  // of nested_: a digest says nothing of who asked
  std::size_t lines_ = 0;
  std::shared_ptr<std::string> stream_ = std::make_shared<std::string>();
  std::set<std::string> streams_;  // that were asked for
};

}  // namespace mist::package
