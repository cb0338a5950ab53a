#pragma once
// The one thread that runs libcurl's multi interface. It begins with the object and ends with it. Any thread
// may call the methods; none of them blocks.

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "http/exchange.h"

namespace mist::http {

class IoThread {
 public:
  /// Internal: libcurl can't start.
  static Result<std::unique_ptr<IoThread>> start(const ClientOptions& options);
  ~IoThread();
  IoThread(const IoThread&) = delete;
  IoThread& operator=(const IoThread&) = delete;

  /// Ends all exchanges, and any that is submitted later, with Exchange::kClosed.
  void stop();

  void submit(std::shared_ptr<Exchange> exchange) { post({Verb::Begin, std::move(exchange)}); }
  /// Lets a paused transfer go on.
  void resume(std::shared_ptr<Exchange> exchange) { post({Verb::Resume, std::move(exchange)}); }
  /// Drops the transfer; its connection stays usable with HTTP/2 and is closed with HTTP/1.1.
  void drop(std::shared_ptr<Exchange> exchange);

 private:
  enum class Verb : std::uint8_t { Begin, Resume, Drop };
  struct Command {
    Verb verb;
    std::shared_ptr<Exchange> exchange;
  };

  IoThread() = default;
  void post(Command command);
  void run();
  void execute(const Command& command);
  void collect();
  bool slept();
  void limit_connections();
  void look_for_connections();
  void open_new_connections();
  /// Pings the connections that are in use, and ends those from which nothing came after the last ping.
  void check_connections();
  bool ping();
  void end_hung();
  int poll_milliseconds() const;
  /// Ends those of `which` whose caller's context says no by now, and their connections.
  void end_forbidden(const std::function<bool(Exchange&)>& which);
  /// Takes it out of libcurl; null if it isn't running.
  std::shared_ptr<Exchange> remove(Exchange* exchange);

  void* multi_ = nullptr;  // CURLM*
  std::size_t max_connections_ = 0;
  Duration ping_after_{}, ping_timeout_{};
  std::mutex mutex_;
  std::vector<Command> commands_;                                     // guarded by mutex_
  bool stopping_ = false;                                             // guarded by mutex_
  std::unordered_map<Exchange*, std::shared_ptr<Exchange>> running_;  // the I/O thread's own
  BootTime looked_{};                                                 // the I/O thread's own
  std::size_t streams_ = 0;                                           // the I/O thread's own; of running_
  std::set<std::int64_t> pinged_;        // the I/O thread's own; Exchange::Link::id
  std::optional<SteadyTime> pinged_at_;  // the I/O thread's own
  bool ping_queued_ = false;             // the I/O thread's own; libcurl has the ping, the network not yet
  SteadyTime next_check_{};              // the I/O thread's own
  std::thread thread_;
};

}  // namespace mist::http
