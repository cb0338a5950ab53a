#pragma once
// One request on its way: what the calling thread and the I/O thread share. The calling thread makes it and
// waits; the I/O thread runs libcurl's callbacks into it. It owns all its data, so a caller may give up and
// leave while the I/O thread is still cleaning up.

#include <array>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "http/client.h"
#include "http/failure.h"
#include "http/transport.h"

struct curl_slist;

namespace mist::http {

/// Settings shared by all exchanges of one Client.
struct ExchangeSettings {
  explicit ExchangeSettings(ClientOptions of_client) : options(std::move(of_client)) {}

  ClientOptions options;
  std::string system_roots;  ///< file with the system's certificates, empty: none found

  /// The text of that file, which the first call reads; empty if it can't be read. Any thread.
  const std::string& system_roots_pem() const;

 private:
  mutable std::once_flag read_;
  mutable std::string pem_;  // fixed after read_
};

/// The file of trusted roots of this system: SSL_CERT_FILE, else the first that exists of those where Go
/// looks too; empty: none. A static libcurl knows no place of its own.
std::string find_system_roots();

enum class Delivery : bool { Whole, Pieces };

class Exchange {
 public:
  /// Checks the request and prepares the transfer, so that the I/O thread has little to do. `settings` must
  /// outlive the exchange. Errors: Invalid, Internal.
  static Result<std::shared_ptr<Exchange>> create(const Request& request, Delivery delivery,
                                                  const ExchangeSettings& settings);
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  // --- the calling thread

  enum class Woken : std::uint8_t { Data, Done, Stopped, Deadline, Idle, Unstarted };
  /// Waits for the next thing that the caller must see to.
  Woken wait(const Context& context);
  /// Makes wait() look again; for stop callbacks. Any thread.
  void notify();
  /// The caller was stopped: nothing is sent from now on. True if it was sent already and its answer is to be
  /// waited for.
  bool hold_back();
  Duration await_answer() const { return request_.await_answer; }
  /// After Data: the pieces that arrived. `resume` is set when the I/O thread must let more come.
  std::string take_pieces(bool& resume);
  /// After a piece was worked on: that time was the caller's, not the server's.
  void restart_idle_clock();
  /// After Done.
  Result<Response> result();
  /// After Data: status and headers.
  Response head() const;
  /// The caller leaves: callbacks end the transfer at the next chance, and nothing is asked any more. Any
  /// thread.
  void abandon();

  /// Whether anything of an answer came.
  bool is_answered() const { return answered_.load(std::memory_order_relaxed); }
  Error idle_error() const;
  /// After hold_back(): `why`, and that nothing was sent, if so (unstarted.h).
  Error deadline_error(Error why);
  Error unstarted_error() const;
  const std::string& frame() const { return frame_; }

  // --- the I/O thread

  void* easy() const { return easy_; }
  /// The transfer ended with `code` (a CURLcode); kClosed: the client went away.
  void finish(int code);
  static constexpr int kClosed = -1;
  /// Request::may_be_sent says no: the exchange ends with that.
  static constexpr int kForbidden = -2;
  /// Asks that, and keeps the answer. A request that was queued may be sent only if it still may be, and one
  /// that was sent by who slept meanwhile may have been sent too late.
  bool may_go_on();
  /// Since the last call: libcurl was told to send it.
  bool take_sent() { return std::exchange(sent_now_, false); }
  /// Unless only the caller's time is over: ends its connection so that nothing of what the kernel still
  /// holds is sent, if it has one.
  void reset_connection();
  /// The HTTP/2 connection by which it was sent; nullopt: none, or it is gone.
  struct Link {
    std::int64_t id = 0;  ///< libcurl's
    int fd = -1;
  };
  std::optional<Link> http2_link() const;
  /// Its connection is being closed, as nothing came after a ping for so long.
  void note_hung(Duration silence) { hung_for_ = silence; }
  /// Its connection was opened for it, and speaks HTTP/1.1.
  bool opened_http1() const;
  /// libcurl reads nothing more for it until it is resumed, and sends nothing meanwhile, not even a ping.
  bool is_held() const { return held_; }
  void note_resumed() { held_ = false; }
  bool went_by_http2() const { return by_http2_; }
  bool is_stream() const { return delivery_ == Delivery::Pieces; }

 private:
  Exchange(const Request& request, Delivery delivery, const ExchangeSettings& settings)
      : request_(request), delivery_(delivery), settings_(settings), may_be_sent_(request.may_be_sent) {}

  Status prepare();
  Status prepare_headers();
  Status prepare_route();
  void prepare_method();
  Status find_host_tls();
  void prepare_tls();
  void trust_authorities();
  const char* system_roots_file() const;  // null: none
  void present(const std::string& certificate_pem, const SecretString& key_pem);
  void prepare_callbacks();

  struct Callbacks;  // what libcurl calls
  void prepare_source();
  std::size_t give_body(std::span<char> room);
  std::size_t take_header(std::string_view line);
  std::size_t take_body(std::string_view piece);
  void touch();
  Failure failure() const;
  Error not_public(std::string_view address) const;
  bool may_reach(const std::string& address);
  bool begin_sending();
  bool is_on_http2() const;
  Error hung_error(Duration silence) const;

  Duration connect_timeout() const {
    return request_.connect_timeout.value_or(settings_.options.connect_timeout);
  }

  const Request request_;
  const Delivery delivery_;
  const ExchangeSettings& settings_;
  Url url_;
  std::shared_ptr<const HostTls> host_tls_;  // null: nothing of this server's own
  std::string trusted_pem_;                  // the system's authorities and those of host_tls_
  std::string proxy_;                        // for messages
  std::string frame_;
  void* easy_ = nullptr;  // CURL*
  curl_slist* headers_ = nullptr;
  curl_slist* connect_to_ = nullptr;
  std::array<char, 256> error_buffer_{};  // CURL_ERROR_SIZE
  std::shared_ptr<TlsReport> tls_ = std::make_shared<TlsReport>();
  SteadyTime created_ = std::chrono::steady_clock::now();

  // Written by the I/O thread; read by the caller after Done.
  Response response_;
  std::uint64_t received_ = 0;
  bool over_limit_ = false;
  bool would_repeat_ = false;
  int sendings_ = 0;
  bool sent_now_ = false;
  bool by_http2_ = false;
  bool held_ = false;
  std::optional<Duration> hung_for_;
  long long uploaded_ = 0;
  std::uint64_t read_to_ = 0;  // of the request's source; the I/O thread's own

  std::atomic<bool> abandoned_{false};
  std::atomic<bool> answered_{false};
  std::atomic<std::int64_t> last_activity_{0};  // steady nanoseconds; 0: not yet on a connection

  // The objects that may_be_sent_ reads live as long as a caller waits here.
  std::mutex asking_;
  std::function<Status()> may_be_sent_;  // guarded by asking_
  std::optional<Error> ended_;           // guarded by asking_
  bool held_back_ = false;               // guarded by asking_
  bool sent_ = false;                    // guarded by asking_
  std::optional<Error> refused_;         // guarded by asking_; an address that Request::public_only forbids

  // The source of the request's body lives as long as a caller waits here.
  std::mutex reading_;
  bool is_left_ = false;         // guarded by reading_
  std::optional<Error> unread_;  // guarded by reading_

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Response head_;        // guarded by mutex_; a copy that trailers don't change
  std::string pieces_;   // guarded by mutex_
  bool paused_ = false;  // guarded by mutex_
  bool done_ = false;    // guarded by mutex_
  int code_ = 0;         // guarded by mutex_
};

}  // namespace mist::http
