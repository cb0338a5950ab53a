#pragma once
// package.call: a package renders another one and uses what it gave. Which packages it may call is declared
// in spec.dependencies and resolved before the render starts; the host gives each called package a sandbox, a
// name and secrets of its own, and bounds the tree of calls as a whole.
//
// A called package is known by its id (what names it in every version: "mistletoe/databases/mariadb") and its
// install name (data.name). Its secrets derive from these two and not from its caller: a further caller, or
// another order of calls, changes none of them, and two callers that ask for the same install get the same
// secrets. docs/formats/abi.md, "Calling packages".
//
// One render and its calls: one thread at a time.

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/event.h"
#include "package/held_events.h"
#include "package/host.h"
#include "package/render_request.h"
#include "package/rendered.h"
#include "package/source.h"
#include "wasm/limits.h"

namespace mist::package {

/// Between the names of a path of packages: "platform → mariadb".
inline constexpr std::string_view kPackageArrow = " → ";

/// An edge of the calls during a render: its caller, and the called package.
struct CallEdge {
  std::string caller_id = {};       ///< ResolvedPackage::id; empty: the release's own package
  std::string caller_install = {};  ///< its data.name; empty: the release's own package
  std::string name;                 ///< what the caller calls the other: of spec.dependencies
  std::string id;
  std::string install;
  std::string version;  ///< empty: it says none
  friend bool operator==(const CallEdge&, const CallEdge&) = default;
};

/// The state that the calls of one render share.
class CallTree {
 public:
  static constexpr std::size_t kMostCalls = 1000;  ///< of different packages or inputs
  static constexpr std::size_t kMostDepth = 16;

  struct Budget {
    Duration guest_time{};           ///< of all calls together
    std::uint64_t output_bytes = 0;  ///< of all calls together
    std::uint64_t memory_bytes = 0;  ///< of a guest and those that wait for it
    std::size_t stack_bytes = 0;     ///< what a guest may use of a stack
    wasm::LimitFlags flags = wasm::LimitFlags::All;
  };
  /// `events` hears what the packages tell, and outlives their renders; null: nobody does.
  explicit CallTree(const Budget& budget, EventSink* events = nullptr)
      : budget_(budget), events_(events == nullptr ? &nobody_ : events) {}
  CallTree(const CallTree&) = delete;
  CallTree& operator=(const CallTree&) = delete;

  /// A call that was answered.
  struct Answered {
    CallAnswer answer;
    std::vector<std::string> path;  ///< of names, from the release's package to the called one
    std::string version;
    FileOrigins origins;   ///< of its files
    bool written = false;  ///< its files have the lines that their author wrote
  };
  const std::map<std::string, Answered>& answers() const { return answers_; }
  /// Each pair once, in the order of the calls.
  const std::vector<CallEdge>& edges() const { return edges_; }

  /// The time left for calls, at least nothing. On the thread of the package that runs now, whose time
  /// counts.
  Duration time_left() const;
  /// The memory left for the next guest beside those that wait for it, at least nothing.
  std::uint64_t memory_left() const;
  /// Counts processor time of the host's threads for the packages of the tree, as that of calls is.
  void spend(Duration time) { spent_ += time; }
  /// Of all packages of the tree.
  const std::shared_ptr<SharedSecrets>& secrets() const { return secrets_; }
  /// Hears what the packages of the tree tell now.
  EventSink& events() const { return *events_; }

  /// Calls and questions that may turn out to be of no use. Unless it is kept, the tree is afterwards as it
  /// was when this was made, and what the packages told meanwhile isn't shown; but the time that was spent
  /// counts, and texts that are hidden stay hidden. Attempts nest.
  class Attempt {
   public:
    explicit Attempt(CallTree& tree);
    Attempt(const Attempt&) = delete;
    Attempt& operator=(const Attempt&) = delete;
    ~Attempt();
    void keep();

   private:
    CallTree& tree_;
    HeldEvents held_;
    bool kept_ = false;
    std::size_t answers_, edges_, calls_;
    std::uint64_t output_;
    std::map<std::string, SecretRequest> asked_;
    std::map<std::string, SecretString> looked_up_;
  };

 private:
  friend class PackageCalls;

  void count_time();

  using Answers = std::map<std::string, Answered>;

  Answers answers_;                                // by package and input: equal calls are rendered once
  std::vector<Answers::const_iterator> answered_;  // in the order of their end
  std::vector<CallEdge> edges_;
  Budget budget_;
  NullEventSink nobody_;
  EventSink* events_;
  Duration spent_{};
  // Processor time of its thread up to which the called package that runs now was counted; none runs:
  // nullopt.
  std::optional<Duration> counted_;
  std::uint64_t output_ = 0;
  std::uint64_t memory_ = 0;  // of guests that wait
  std::size_t calls_ = 0;     // that were begun
  std::shared_ptr<SharedSecrets> secrets_ = std::make_shared<SharedSecrets>();
};

class PackageCalls {
 public:
  using Render = std::function<Result<Rendered>(const Source& source, const RenderRequest& request)>;

  /// `caller` is what the package says of itself, `dependencies` what it may call, `request` what it is
  /// rendered by; all outlive this.
  PackageCalls(const Metadata& caller, const Dependencies& dependencies, const RenderRequest& request,
               std::shared_ptr<CallTree> tree, Render render)
      : caller_(caller),
        dependencies_(dependencies),
        request_(request),
        tree_(std::move(tree)),
        render_(std::move(render)) {}

  /// To {"package": a name of spec.dependencies, "input": the `data` of the called package}: {"files": {path:
  /// text}, "exports", "message"}. Errors name the path of calls. Invalid: a wrong form, an undeclared
  /// package, what the called package refuses, exports that don't fit its schema. Trap: a limit of the whole
  /// tree, and what ends the called guest. `caller_memory`: bytes that the caller has while it waits.
  Result<CallAnswer> answer(const Value& request, std::uint64_t caller_memory);

 private:
  struct Call;
  Result<Call> read(const Value& request) const;
  Result<std::shared_ptr<const ResolvedPackage>> callee(const std::string& name) const;
  Result<CallTree::Answered> call(const Call& call, std::uint64_t caller_memory);
  Result<Rendered> render(const Call& call, std::uint64_t caller_memory);
  Result<Rendered> render_on_own_stack(const Call& call);
  void note_edge(const Call& call, const std::string& version);
  std::vector<std::string> caller_path() const;
  Status count_output(const Call& call, const Rendered& rendered);
  RenderRequest request_for(const Call& call) const;

  const Metadata& caller_;
  const Dependencies& dependencies_;
  const RenderRequest& request_;
  std::shared_ptr<CallTree> tree_;
  Render render_;
};

/// Each pair of packages once, in the order of the calls.
std::vector<CallEdge> calls_of(const Rendered& rendered);

/// For a called package, else for the release itself.
std::string_view install_name(const RenderRequest& request);

/// Whom secrets are for. The rotations of a called package are those of its own secrets.
SecretScope secret_scope(const Metadata& metadata, const RenderRequest& request);

/// Invalid: a declared dependency isn't among the resolved ones.
Status refuse_unresolved(const Metadata& metadata, const Source& source);

}  // namespace mist::package
