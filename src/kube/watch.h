#pragma once
// LIST and WATCH of one collection until somebody says stop: reconnects from the last resourceVersion after a
// cut, a time-out or an idle connection, lists again after 410 Gone, once it failed to reconnect and where it
// can't read what comes next, and says Deleted for what disappeared meanwhile. Blocking, on the calling
// thread.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/event.h"
#include "base/random.h"
#include "http/transport.h"
#include "kube/api_status.h"
#include "kube/client.h"

namespace mist::kube {

class Watcher {
 public:
  /// One page of a LIST. `first`: it begins; what came before it of another try doesn't count. False: no
  /// more pages are wanted.
  using PageHandler = std::function<bool(const std::vector<Value>& items, bool first)>;
  /// The parts of a client that it needs, and of the process. All references must outlive it.
  struct Dependencies {
    /// Gives the LIST's resourceVersion; nothing of the pages is kept.
    std::function<Result<std::string>(const PageHandler&, const Context&)> list;
    /// WATCH from `resource_version`; the server ends it after about `timeout`.
    std::function<Result<http::Response>(const std::string& resource_version, Duration timeout,
                                         const http::BodyPiece& piece, const Context&)>
        open;
    Clock& clock;
    Random& random;
    EventSink& events;
    std::function<void(const Error&)> unlisted = {};  ///< as that of ListOptions
  };

  /// `asked` names the collection in messages.
  Watcher(ResourceInfo resource, Asked asked, Dependencies dependencies);

  /// Ends well when `handler` returns false. Errors: Timeout and Cancelled by `context`; what the server
  /// refuses for good (Forbidden, NotFound, Invalid). Outages of the server are waited out; the first LIST is
  /// not repeated.
  Status run(const WatchHandler& handler, const Context& context);

 private:
  struct Connection {
    bool handler_ended = false;
    bool relist = false;
    bool progressed = false;             // at least one good event
    bool away = false;                   // the server couldn't be reached, or went away
    bool unopened = false;               // it answered nothing, or that it can't open the watch
    bool sent_away = false;              // it asked for patience (429)
    bool unreadable = false;             // a line that can't be read broke it
    std::optional<Duration> asked_wait;  // what it said in Retry-After
    std::optional<Error> broken;
    std::optional<Error> fatal;
  };
  Result<bool> list(const WatchHandler& handler, const Context& context);
  Connection connect(const WatchHandler& handler, const Context& context);
  bool take_line(std::string_view line, const WatchHandler& handler, Connection& connection);
  Duration back_off(int failures, Duration longest, std::optional<Duration> asked);
  void remember(const Value& object);

  const ResourceInfo resource_;
  const Asked asked_;
  const Dependencies dependencies_;
  std::string version_;
  // The objects that the handler knows, as far as a synthetic Deleted needs them: maybe tens of thousands.
  // Kind and version are those of the resource, and of the list that hasn't the object any more.
  struct Known {
    std::string text;         // uid and labels, as JSON
    std::uint64_t lists = 0;  // lists_, when it was told of
  };
  Result<Value> remembered(std::string_view key, const Known& known) const;
  std::map<std::string, Known> known_;  // by "namespace/name"
  std::uint64_t lists_ = 0;             // LISTs that have begun
};

}  // namespace mist::kube
