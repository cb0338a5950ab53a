#include "http/web_server.h"

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "base/text.h"
#include "base/url.h"
#include "http/listening.h"
#include "http/server_stream.h"

namespace mist::http {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using asio::ip::tcp;
using BeastField = beast::http::field;

std::string_view view_of(boost::beast::string_view text) { return {text.data(), text.size()}; }

struct Target {
  std::string_view authority = {};  // empty: the request's Host says it
  std::string_view path = {};       // with the query
};

// nullopt: neither a path nor an absolute URL (RFC 9112, sections 3.2.1 and 3.2.2).
std::optional<Target> target_of(std::string_view text) {
  if (text.starts_with('/')) return Target{.path = text};
  const std::optional<UrlParts> url = split_url(text);
  const bool has_user = url && url->authority != url->server;
  if (!url || !is_http(text) || url->host.empty() || has_user) return std::nullopt;
  return Target{.authority = url->server, .path = url->target};
}

// Why nobody can be sure where this request ends, or what it is about; empty: it is well formed.
std::string_view objection(const beast::http::request<beast::http::string_body>& request) {
  const auto count = [&](BeastField name) {
    const auto [first, last] = request.equal_range(name);
    return std::distance(first, last);
  };
  if (request.version() != 11 && request.version() != 10) return "only HTTP/1.1 and HTTP/1.0";
  if (request.version() == 11 && count(BeastField::host) != 1) return "exactly one Host is needed";
  if (count(BeastField::content_length) > 1) return "more than one Content-Length";
  // The parser takes "0, 0", which others read otherwise.
  if (const std::string_view length = view_of(request[BeastField::content_length]);
      length.find_first_not_of("0123456789") != length.npos)
    return "Content-Length must be one number";
  if (const auto encodings = count(BeastField::transfer_encoding); encodings > 0) {
    if (request.version() == 10) return "HTTP/1.0 has no Transfer-Encoding";
    if (encodings > 1 || !beast::iequals(request[BeastField::transfer_encoding], "chunked"))
      return "the only Transfer-Encoding here is chunked";
    if (count(BeastField::content_length) > 0) return "Content-Length beside Transfer-Encoding";
  }
  const std::string_view target = view_of(request.target());
  if (!target_of(target)) return "the target must be a path, or an http URL without a user";
  for (const char c : target)
    if (static_cast<unsigned char>(c) <= ' ' || static_cast<unsigned char>(c) >= 0x7f || c == '#')
      return "the target must be escaped";
  return {};
}

}  // namespace

class WebServer::Impl {
 public:
  Impl(WebServerOptions options, HandleWeb handle)
      : options_(options), handle_(std::move(handle)), handlers_(options.handlers) {}
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  Status listen(std::string_view address) {
    MIST_TRY_VOID(listen_on(acceptor_, address));
    address_ = address_text(acceptor_.local_endpoint());
    accept();
    thread_ = std::thread([this] { context_.run(); });
    return {};
  }
  const std::string& address() const { return address_; }

 private:
  class Connection;

  void accept();
  enum class Among : std::uint8_t { All, SharedAnswers };
  // Which one is closed for others; null: none may be.
  Connection* first_to_give_way(Among among) const;
  void begin_sharing(const std::string* bytes);
  void end_sharing(const std::string* bytes);
  void bound_shared();
  void begin_drain();

  // Those that the connections use outlive the context, which holds the connections.
  const WebServerOptions options_;
  const HandleWeb handle_;
  std::mutex mutex_;
  std::condition_variable drained_;
  std::size_t open_ = 0;               // guarded by mutex_
  std::set<Connection*> connections_;  // of the I/O thread
  bool draining_ = false;              // of the I/O thread
  // Shared answers that are being sent, with how many connections send each. Of the I/O thread.
  std::map<const std::string*, std::size_t> shared_;
  std::uint64_t shared_bytes_ = 0;  // of them
  std::string address_;
  asio::io_context context_{1};
  // A connection whose request is with a handler waits for nothing that the context knows of.
  asio::executor_work_guard<asio::io_context::executor_type> running_{context_.get_executor()};
  tcp::acceptor acceptor_{context_};
  asio::steady_timer pause_{context_};
  asio::thread_pool handlers_;
  std::thread thread_;
};

// All of it runs on the I/O thread but for the handler. Only one operation is on its way at a time.
class WebServer::Impl::Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(tcp::socket socket, std::shared_ptr<const ServerTls> tls, Impl& server)
      : stream_(std::move(socket), std::move(tls)), server_(server) {
    server_.connections_.insert(this);
    const std::lock_guard lock(server_.mutex_);
    ++server_.open_;
    beast::error_code failed;
    const tcp::endpoint peer = stream_.socket().remote_endpoint(failed);
    if (!failed) peer_ = peer.address().to_string();
  }
  ~Connection() {
    end_sharing();
    forget();
    const std::lock_guard lock(server_.mutex_);
    if (--server_.open_ == 0) server_.drained_.notify_all();
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Waits for the first byte of a request.
  void wait() {
    if (server_.draining_) return close();
    if (stream_.needs_handshake()) return shake_hands();
    if (buffer_.size() > 0) return read_header();
    stream_.expires_after(server_.options_.idle);
    begin(Stage::Waiting);
    stream_.async_read_some(buffer_.prepare(kFirstBytes),
                            [self = shared_from_this()](beast::error_code failed, std::size_t size) {
                              if (failed) return;
                              self->buffer_.commit(size);
                              self->read_header();
                            });
  }

  void end_unless_busy() {
    if (stage_ < Stage::Handling) close();
  }

  // The lower, the sooner it gives way; nullopt: it doesn't. A request that has come is answered in any case,
  // and its client has `patience` to take the answer.
  using Rank = std::pair<int, SteadyTime>;
  std::optional<Rank> rank(SteadyTime now) const {
    if (stage_ == Stage::Handling) return std::nullopt;
    if (stage_ == Stage::Sending && now - since_ < server_.options_.patience) return std::nullopt;
    return Rank{static_cast<int>(stage_), since_};
  }

  bool shares() const { return shared_ != nullptr; }

  // Its place and its share of the memory are others' from now on.
  void give_way() {
    close();
    end_sharing();
    forget();
  }

 private:
  static constexpr std::size_t kFirstBytes = 4096;
  static constexpr std::size_t kMostBuffered = 256u << 10;
  static constexpr std::size_t kMostDiscarded = 4u << 20;
  static constexpr std::chrono::seconds kDiscardTime{2};

  enum class Stage : std::uint8_t {
    Waiting,   // for a request
    Reading,   // one that has begun; or, after the last answer, what the client sends still
    Handling,  // one that has come whole
    Sending,   // its answer
  };
  void begin(Stage stage) {
    stage_ = stage;
    since_ = std::chrono::steady_clock::now();
  }

  void forget() { server_.connections_.erase(this); }
  void end_sharing() {
    if (shared_ != nullptr) server_.end_sharing(std::exchange(shared_, nullptr));
  }

  // A client that is slow with it counts as one that is slow with its request.
  void shake_hands() {
    begin(Stage::Reading);
    stream_.expires_after(server_.options_.patience);
    stream_.handshake([self = shared_from_this()](beast::error_code failed) {
      if (!failed) self->wait();
    });
  }

  void read_header() {
    begin(Stage::Reading);
    parser_.emplace();
    parser_->header_limit(WebServerOptions::kHeaderBytes);
    parser_->body_limit(server_.options_.body_bytes);
    // One time limit for all of the request: a byte now and then doesn't prolong it.
    stream_.expires_after(server_.options_.patience);
    beast::http::async_read_header(stream_, buffer_, *parser_,
                                   [self = shared_from_this()](beast::error_code failed, std::size_t) {
                                     if (failed) return self->refuse_unread(failed);
                                     self->read_body();
                                   });
  }

  void read_body() {
    if (const std::string_view why = objection(parser_->get()); !why.empty()) return refuse(400, why);
    // Now: Beast adds trailers to the fields, but nothing may take them for headers (RFC 9110,
    // section 6.5.1).
    request_ = head();
    beast::http::async_read(stream_, buffer_, *parser_,
                            [self = shared_from_this()](beast::error_code failed, std::size_t) {
                              if (failed) return self->refuse_unread(failed);
                              self->handle();
                            });
  }

  WebRequest head() const {
    const auto& message = parser_->get();
    const Target target = target_of(view_of(message.target())).value_or(Target());
    const auto question = std::min(target.path.find('?'), target.path.size());
    const std::string_view path = target.path.substr(0, question);
    WebRequest request{.method = std::string(view_of(message.method_string())),
                       .path = std::string(path.empty() ? "/" : path),
                       .query = std::string(target.path.substr(std::min(question + 1, target.path.size()))),
                       .headers = {},
                       .body = {},
                       .peer = peer_};
    for (const auto& field : message)
      // An absolute target's authority stands in place of Host (RFC 9112, section 3.2.2).
      if (target.authority.empty() || field.name() != BeastField::host)
        request.headers.push_back(
            {std::string(view_of(field.name_string())), std::string(view_of(field.value()))});
    if (!target.authority.empty()) request.headers.push_back({"Host", std::string(target.authority)});
    return request;
  }

  void handle() {
    // It gave way, or the server ends, when the last bytes had been read already: nobody would get the
    // answer.
    if (!stream_.socket().is_open()) return;
    request_.body = std::move(parser_->get().body());
    begin(Stage::Handling);
    stream_.expires_never();
    // The last hold of this goes along, so that it ends on the I/O thread.
    asio::post(server_.handlers_, [self = shared_from_this(), request = std::move(request_)]() mutable {
      Impl& server = self->server_;
      WebAnswer answer = server.handle_(request);
      asio::post(server.context_, [self = std::move(self), answer = std::move(answer)]() mutable {
        const bool keep = self->parser_->get().keep_alive();
        self->send(std::move(answer), keep);
      });
    });
  }

  void send(WebAnswer answer, bool keep_alive) {
    const bool is_head = parser_->get().method() == beast::http::verb::head;
    response_ = {};
    response_.version(parser_->get().version() == 10 ? 10 : 11);
    response_.result(static_cast<unsigned>(answer.status));
    response_.keep_alive(keep_alive && !server_.draining_);
    // 304 speaks of a body that it doesn't have (RFC 9110, section 15.4.5), 204 of none (section 8.6).
    if (answer.status != 304 && answer.status != 204) {
      response_.set(BeastField::content_type, answer.content_type);
      response_.content_length(is_head && answer.length ? *answer.length : answer.content().size());
    }
    for (const Header& header : answer.headers) response_.insert(header.name, header.value);
    answer_ = std::move(answer);
    if (!is_head) response_.body() = {answer_.content().data(), answer_.content().size()};
    stream_.expires_after(server_.options_.patience + time_for(answer_));
    begin(Stage::Sending);
    if (shared_ = answer_.shared.get(); shared_ != nullptr) server_.begin_sharing(shared_);
    beast::http::async_write(stream_, response_,
                             [self = shared_from_this()](beast::error_code failed, std::size_t) {
                               self->end_sharing();
                               self->answer_ = {};
                               if (failed) return self->close();
                               if (self->response_.keep_alive()) return self->wait();
                               self->say_goodbye();
                             });
    // Also after one that says that there is no room.
    server_.bound_shared();
  }

  // Beside the patience that everybody has.
  Duration time_for(const WebAnswer& answer) const {
    if (answer.shared == nullptr) return Duration::zero();
    return std::chrono::seconds(answer.shared->size() / server_.options_.slowest);
  }

  void refuse_unread(beast::error_code failed) {
    using beast::http::error;
    if (failed == error::body_limit) return refuse(413, "the body is too large");
    if (failed == error::header_limit) return refuse(431, "the header is too large");
    // Nobody is there any more, or nobody should wait for the end of a silent client's request.
    if (failed == error::end_of_stream || failed == error::partial_message ||
        failed == beast::error::timeout ||
        failed.category() != beast::http::make_error_code(error::bad_method).category())
      return close();
    refuse(400, "this is not an HTTP request");
  }

  void refuse(int status, std::string_view why) {
    send({.status = status, .body = std::string(why) + "\n"}, false);
  }

  // The client gets to read the answer, although it may still be sending: a reset would discard it.
  void say_goodbye() {
    begin(Stage::Reading);
    beast::error_code ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
    stream_.expires_after(kDiscardTime);
    discard(0);
  }
  void discard(std::size_t so_far) {
    buffer_.clear();
    if (so_far > kMostDiscarded) return close();
    stream_.async_read_some(buffer_.prepare(kFirstBytes),
                            [self = shared_from_this(), so_far](beast::error_code failed, std::size_t size) {
                              if (!failed) self->discard(so_far + size);
                            });
  }

  void close() {
    beast::error_code ignored;
    stream_.socket().close(ignored);
  }

  ServerStream stream_;
  Impl& server_;
  std::string peer_;
  Stage stage_ = Stage::Waiting;
  SteadyTime since_ = std::chrono::steady_clock::now();
  beast::flat_buffer buffer_{kMostBuffered};
  std::optional<beast::http::request_parser<beast::http::string_body>> parser_;
  WebRequest request_;                   // while its body is read
  WebAnswer answer_;                     // holds what response_ shows
  const std::string* shared_ = nullptr;  // of answer_, as long as it is counted in the server's
  beast::http::response<beast::http::span_body<const char>> response_;
};

WebServer::Impl::~Impl() {
  asio::post(context_, [this] { begin_drain(); });
  if (thread_.joinable()) {
    std::unique_lock lock(mutex_);
    drained_.wait_for(lock, WebServerOptions::kDrain, [&] { return open_ == 0; });
  }
  context_.stop();
  if (thread_.joinable()) thread_.join();
  handlers_.stop();
  handlers_.join();
}

void WebServer::Impl::accept() {
  acceptor_.async_accept([this](beast::error_code failed, tcp::socket socket) {
    if (failed == asio::error::operation_aborted || draining_) return;
    // Out of descriptors, say: asking again at once would take a whole core.
    if (failed) {
      pause_.expires_after(std::chrono::milliseconds(100));
      return pause_.async_wait([this](beast::error_code ended) {
        if (!ended) accept();
      });
    }
    if (connections_.size() >= options_.connections)
      if (Connection* const first = first_to_give_way(Among::All); first != nullptr) first->give_way();
    const auto tls = options_.tls == nullptr ? nullptr : options_.tls->get();
    const bool may_answer = options_.tls == nullptr || tls != nullptr;
    if (may_answer && connections_.size() < options_.connections)
      std::make_shared<Connection>(std::move(socket), tls, *this)->wait();
    accept();
  });
}

// Beyond the bound, one that waits for its next request gives way, as it may at any time (RFC 9112, section
// 9.5); else the one that has been sending its request the longest, or that has been taking its answer the
// longest, beyond the time that every client has: so a client that holds all of them slowly closes the server
// to nobody else. Where none does, the new one is closed at once.
WebServer::Impl::Connection* WebServer::Impl::first_to_give_way(Among among) const {
  const SteadyTime now = std::chrono::steady_clock::now();
  Connection* first = nullptr;
  std::optional<Connection::Rank> lowest;
  for (Connection* const each : connections_) {
    if (among == Among::SharedAnswers && !each->shares()) continue;
    if (const auto rank = each->rank(now); rank && (!lowest || *rank < *lowest)) {
      lowest = rank;
      first = each;
    }
  }
  return first;
}

void WebServer::Impl::begin_sharing(const std::string* bytes) {
  if (++shared_[bytes] == 1) shared_bytes_ += bytes->size();
}

void WebServer::Impl::end_sharing(const std::string* bytes) {
  const auto found = shared_.find(bytes);
  if (--found->second > 0) return;
  shared_bytes_ -= bytes->size();
  shared_.erase(found);
}

// Slow clients of different large answers would have all the memory that there is for these, for as long as
// slow networks are given.
void WebServer::Impl::bound_shared() {
  while (shared_bytes_ > options_.shared_bytes) {
    Connection* const first = first_to_give_way(Among::SharedAnswers);
    if (first == nullptr) return;
    first->give_way();
  }
}

void WebServer::Impl::begin_drain() {
  draining_ = true;
  beast::error_code ignored;
  acceptor_.close(ignored);
  pause_.cancel();
  for (Connection* const each : connections_) each->end_unless_busy();
}

WebServer::WebServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
WebServer::~WebServer() = default;

Result<std::unique_ptr<WebServer>> WebServer::listen(std::string_view address, WebServerOptions options,
                                                     HandleWeb handle) {
  auto impl = std::make_unique<Impl>(options, std::move(handle));
  MIST_TRY_VOID(impl->listen(address));
  return std::unique_ptr<WebServer>(new WebServer(std::move(impl)));
}

std::string WebServer::address() const { return impl_->address(); }

}  // namespace mist::http
