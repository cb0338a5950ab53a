#include "http/io_thread.h"

#include <curl/curl.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <map>
#include <utility>

namespace mist::http {
namespace {

// libcurl names its own time to look again; this only bounds it.
constexpr int kPollMilliseconds = 60'000;

// With this many requests on their way the thread gathers what comes within a millisecond instead of waking
// up for each answer: libcurl then looks at each of the requests, whoever the answer is for, and the
// processors are what a server nearby and we share.
constexpr std::size_t kMany = 16;
constexpr std::chrono::milliseconds kGathering{1};

// The kernel counts a connection's silence in ticks, of 10 ms at most: the answer to a ping may seem older
// than the ping.
constexpr std::chrono::milliseconds kKernelTick{20};

// Less than what a lock leaves to who takes it over (release/lock.h), also where its term is a short one.
constexpr std::chrono::milliseconds kSleep{100};

/// Signals are for the threads that wait for users. A SIGPIPE of OpenSSL would end the process.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

// For how long a TCP connection has brought nothing; nullopt: not known, or it isn't the peer's silence: we
// have not read what came, or the peer has not yet got what we sent.
std::optional<Duration> silence_of(int fd) {
  int unread = 0, unacknowledged = 0;
  if (::ioctl(fd, FIONREAD, &unread) != 0 || unread > 0) return std::nullopt;
  if (::ioctl(fd, SIOCOUTQ, &unacknowledged) != 0 || unacknowledged > 0) return std::nullopt;
  tcp_info info{};
  socklen_t size = sizeof info;
  if (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return std::nullopt;
  return std::chrono::milliseconds(info.tcpi_last_data_recv);
}

// The connection of an exchange through which a queued ping gets out.
std::optional<Exchange::Link> pingable_link(const Exchange& exchange) {
  return exchange.is_held() ? std::nullopt : exchange.http2_link();
}

// Not only the exchange ended, but the connection.
bool has_broken(CURLcode code) { return code == CURLE_RECV_ERROR || code == CURLE_SEND_ERROR; }

bool initialise_libcurl() {
  static const bool ok = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
  return ok;
}

}  // namespace

Result<std::unique_ptr<IoThread>> IoThread::start(const ClientOptions& options) {
  if (!initialise_libcurl()) return error(ErrorKind::Internal, "the HTTP library can't be initialised");
  std::unique_ptr<IoThread> io(new IoThread);
  io->multi_ = curl_multi_init();
  if (io->multi_ == nullptr) return error(ErrorKind::Internal, "the HTTP library can't start: no memory");
  io->max_connections_ = std::max<std::size_t>(options.max_connections, 1);
  io->ping_after_ = options.ping_after;
  io->ping_timeout_ = options.ping_timeout;
  io->limit_connections();
  curl_multi_setopt(io->multi_, CURLMOPT_PIPELINING, static_cast<long>(CURLPIPE_MULTIPLEX));
  curl_multi_setopt(io->multi_, CURLMOPT_MAX_CONCURRENT_STREAMS,
                    static_cast<long>(std::max<std::size_t>(options.streams_per_connection, 1)));
  curl_multi_setopt(io->multi_, CURLMOPT_QUICK_EXIT, 1L);
  const BlockedSignals inherited_by_the_thread;
  io->thread_ = std::thread(&IoThread::run, io.get());
  return io;
}

void IoThread::stop() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  if (!thread_.joinable()) return;
  curl_multi_wakeup(multi_);
  thread_.join();
}

IoThread::~IoThread() {
  stop();
  curl_multi_cleanup(multi_);
}

void IoThread::post(Command command) {
  bool first = false;
  {
    const std::scoped_lock lock(mutex_);
    if (stopping_) return command.exchange->finish(Exchange::kClosed);
    first = commands_.empty();
    commands_.push_back(std::move(command));
  }
  // The caller that filled an empty list woke the thread for all that came after.
  if (first) curl_multi_wakeup(multi_);
}

void IoThread::drop(std::shared_ptr<Exchange> exchange) {
  exchange->abandon();
  post({Verb::Drop, std::move(exchange)});
}

void IoThread::run() {
  std::vector<Command> commands;
  while (true) {
    {
      const std::scoped_lock lock(mutex_);
      if (stopping_) break;
      commands.swap(commands_);
    }
    if (slept()) end_forbidden([](Exchange&) { return true; });
    for (const Command& command : commands) execute(command);
    commands.clear();
    int running = 0;
    curl_multi_perform(multi_, &running);
    // Between the question and the bytes this process may have been stopped.
    bool opened_http1 = false;
    end_forbidden([&](Exchange& exchange) {
      const bool sent = exchange.take_sent();
      opened_http1 = opened_http1 || (sent && exchange.opened_http1());
      return sent;
    });
    collect();
    if (opened_http1) look_for_connections();
    check_connections();
    const CURLMcode polled = curl_multi_poll(multi_, nullptr, 0, poll_milliseconds(), nullptr);
    // Without the pause, what can't be waited for would be asked about all the time.
    if (running_.size() >= kMany || polled != CURLM_OK) std::this_thread::sleep_for(kGathering);
  }
  for (const auto& [key, exchange] : std::exchange(running_, {})) {
    curl_multi_remove_handle(multi_, exchange->easy());
    exchange->finish(Exchange::kClosed);
  }
  const std::scoped_lock lock(mutex_);
  for (const Command& command : commands_) command.exchange->finish(Exchange::kClosed);
  commands_.clear();
}

// Whether nothing ran here for so long that what libcurl still holds of requests may be too old to be sent.
bool IoThread::slept() {
  const BootTime now = SystemClock().boot_now();
  return now - std::exchange(looked_, now) > kSleep;
}

void IoThread::end_forbidden(const std::function<bool(Exchange&)>& which) {
  std::vector<Exchange*> over;
  for (const auto& [key, exchange] : running_) {
    if (which(*exchange) && !exchange->may_go_on()) over.push_back(key);
  }
  for (Exchange* each : over) each->reset_connection();
  for (Exchange* each : over) {
    if (const std::shared_ptr<Exchange> owner = remove(each)) owner->finish(Exchange::kForbidden);
  }
}

void IoThread::execute(const Command& command) {
  const std::shared_ptr<Exchange>& exchange = command.exchange;
  switch (command.verb) {
    case Verb::Begin:
      // Before libcurl may decide that it has to wait.
      if (exchange->is_stream()) ++streams_, limit_connections();
      if (const CURLMcode code = curl_multi_add_handle(multi_, exchange->easy()); code != CURLM_OK) {
        if (exchange->is_stream()) --streams_, limit_connections();
        exchange->finish(CURLE_FAILED_INIT);
      } else {
        running_.emplace(exchange.get(), exchange);
      }
      break;
    case Verb::Resume:
      if (!running_.contains(exchange.get())) break;
      exchange->note_resumed();
      curl_easy_pause(exchange->easy(), CURLPAUSE_CONT);
      break;
    case Verb::Drop:
      remove(exchange.get());
      break;
  }
}

void IoThread::collect() {
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi_, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    // Copied first: removing the handle frees the message.
    const CURLcode code = message->data.result;
    Exchange* exchange = nullptr;
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &exchange);
    if (const std::shared_ptr<Exchange> owner = remove(exchange)) {
      if (owner->went_by_http2() && has_broken(code)) open_new_connections();
      owner->finish(code);
    }
  }
}

std::shared_ptr<Exchange> IoThread::remove(Exchange* exchange) {
  auto node = running_.extract(exchange);
  if (node.empty()) return nullptr;
  curl_multi_remove_handle(multi_, exchange->easy());
  if (exchange->is_stream()) --streams_, limit_connections();
  return std::move(node.mapped());
}

// With HTTP/1.1 each stream has a connection for itself, which leaves requests as many as without it.
void IoThread::limit_connections() {
  const long connections = static_cast<long>(max_connections_ + streams_);
  curl_multi_setopt(multi_, CURLMOPT_MAX_HOST_CONNECTIONS, connections);
  curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, connections);
}

// Requests wait while a connection is being opened, as it may turn out to be one for all. libcurl forgets
// them where it speaks HTTP/1.1; whenever a transfer is removed, it lets one of them look again, and that one
// the next.
void IoThread::look_for_connections() {
  curl_off_t waiting = 0;
  if (curl_multi_get_offt(multi_, CURLMINFO_XFERS_PENDING, &waiting) != CURLM_OK || waiting == 0) return;
  CURL* const nothing = curl_easy_init();
  if (nothing == nullptr) return;
  if (curl_multi_add_handle(multi_, nothing) == CURLM_OK) curl_multi_remove_handle(multi_, nothing);
  curl_easy_cleanup(nothing);
}

// Requests that begin from now on are put on none of the connections that there are. libcurl keeps an HTTP/2
// connection that broke, and takes it for a good one for another second.
void IoThread::open_new_connections() {
  curl_multi_setopt(multi_, CURLMOPT_NETWORK_CHANGED, static_cast<long>(CURLMNWC_CLEAR_CONNS));
}

// --- connections that hang
//
// TCP notices a peer that is gone, but not one on the way that acknowledges everything and passes on nothing.
// Each HTTP/2 server answers a ping. libcurl sends pings, but doesn't look at the answers; when the last byte
// came, the kernel knows of each connection.

void IoThread::check_connections() {
  if (running_.empty()) return;
  const SteadyTime now = std::chrono::steady_clock::now();
  if (now < next_check_) return;
  if (std::exchange(ping_queued_, false)) {
    next_check_ = now + ping_timeout_;
    return;
  }
  if (pinged_at_)
    end_hung();
  else if (ping())
    return;
  pinged_.clear();
  pinged_at_.reset();
  next_check_ = now + ping_after_;
}

// libcurl only queues the ping. It goes out when libcurl next looks at an exchange on that connection that
// isn't held, so that is done at once; without such an exchange, nothing follows from the silence.
bool IoThread::ping() {
  for (const auto& [key, exchange] : running_)
    if (const auto link = pingable_link(*exchange)) pinged_.insert(link->id);
  if (pinged_.empty()) return false;
  curl_easy_upkeep(running_.begin()->first->easy());
  pinged_at_ = std::chrono::steady_clock::now();
  next_check_ = *pinged_at_;
  ping_queued_ = true;
  return true;
}

void IoThread::end_hung() {
  const Duration since_ping = std::chrono::steady_clock::now() - *pinged_at_;
  std::map<int, Duration> hung;
  for (const auto& [key, exchange] : running_) {
    const auto link = pingable_link(*exchange);
    if (!link || !pinged_.contains(link->id)) continue;
    const std::optional<Duration> silence = silence_of(link->fd);
    if (silence && *silence > since_ping + kKernelTick) hung.emplace(link->fd, *silence);
  }
  if (hung.empty()) return;
  for (const auto& [key, exchange] : running_) {
    const auto link = exchange->http2_link();
    if (link && hung.contains(link->fd)) exchange->note_hung(hung.at(link->fd));
  }
  // libcurl sees the end, and fails what is left on it.
  for (const auto& [fd, silence] : hung) ::shutdown(fd, SHUT_RDWR);
  open_new_connections();
}

int IoThread::poll_milliseconds() const {
  if (running_.empty()) return kPollMilliseconds;
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(next_check_ - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, kPollMilliseconds));
}

}  // namespace mist::http
