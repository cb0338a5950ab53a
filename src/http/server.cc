#include "http/server.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <list>
#include <optional>
#include <thread>
#include <utility>

#include "http/listening.h"

namespace mist::http {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using asio::ip::tcp;

constexpr std::chrono::seconds kPatience{10};  // for a request, and for its answer
constexpr std::uint32_t kMostHeader = 16u << 10;
constexpr std::size_t kMostConnections = 64;

class Connection;
using Connections = std::list<Connection*>;

// One request and its answer.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(tcp::socket socket, const AnswerPath& answer, Connections& open)
      : stream_(std::move(socket)), answer_(answer), open_(open), place_(open.insert(open.end(), this)) {}
  ~Connection() { leave(); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void read() {
    parser_.emplace();
    parser_->header_limit(kMostHeader);
    parser_->body_limit(0);
    stream_.expires_after(kPatience);
    beast::http::async_read(stream_, buffer_, *parser_,
                            [self = shared_from_this()](beast::error_code failed, std::size_t) {
                              if (!failed) self->respond();
                            });
  }

  // A read or write that is on its way fails, and lets go of this.
  void close() {
    stream_.close();
    leave();
  }

 private:
  void leave() {
    if (place_ != open_.end()) open_.erase(std::exchange(place_, open_.end()));
  }

  void respond() {
    const auto& request = parser_->get();
    const bool is_head = request.method() == beast::http::verb::head;
    Answer answer{.status = 405, .body = "only GET and HEAD\n"};
    if (is_head || request.method() == beast::http::verb::get) {
      const std::string_view target(request.target().data(), request.target().size());
      answer = answer_(target.substr(0, target.find('?')));
    }
    response_ = {};
    response_.version(request.version());
    response_.keep_alive(false);
    response_.result(static_cast<unsigned>(answer.status));
    response_.set(beast::http::field::content_type, answer.content_type);
    if (answer.status == 405) response_.set(beast::http::field::allow, "GET, HEAD");
    response_.content_length(answer.body.size());
    if (!is_head) response_.body() = std::move(answer.body);
    stream_.expires_after(kPatience);
    beast::http::async_write(stream_, response_, [self = shared_from_this()](beast::error_code, std::size_t) {
      beast::error_code ignored;
      self->stream_.socket().shutdown(tcp::socket::shutdown_both, ignored);
    });
  }

  beast::tcp_stream stream_;
  beast::flat_buffer buffer_{kMostHeader};
  std::optional<beast::http::request_parser<beast::http::empty_body>> parser_;
  beast::http::response<beast::http::string_body> response_;
  const AnswerPath& answer_;
  Connections& open_;
  Connections::iterator place_;  // in open_; its end: no longer
};

}  // namespace

class Server::Impl {
 public:
  explicit Impl(AnswerPath answer) : answer_(std::move(answer)) {}
  ~Impl() {
    context_.stop();
    if (thread_.joinable()) thread_.join();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  Status listen(std::string_view address) {
    MIST_TRY_VOID(listen_on(acceptor_, address));
    accept();
    thread_ = std::thread([this] { context_.run(); });
    return {};
  }

  std::string address() const {
    beast::error_code failed;
    return address_text(acceptor_.local_endpoint(failed));
  }

 private:
  void accept() {
    acceptor_.async_accept([this](beast::error_code failed, tcp::socket socket) {
      if (failed == asio::error::operation_aborted) return;
      // Out of descriptors, say: asking again at once would take a whole core.
      if (failed) {
        pause_.expires_after(std::chrono::milliseconds(100));
        return pause_.async_wait([this](beast::error_code ended) {
          if (!ended) accept();
        });
      }
      // Beyond the bound the oldest one has to go: a client that holds all of them would keep kubelet's
      // probes away, and the process would be restarted.
      if (open_.size() >= kMostConnections) open_.front()->close();
      std::make_shared<Connection>(std::move(socket), answer_, open_)->read();
      accept();
    });
  }

  AnswerPath answer_;
  Connections open_;  // of the server's thread, the oldest first; outlives them, which the context holds
  asio::io_context context_{1};
  tcp::acceptor acceptor_{context_};
  asio::steady_timer pause_{context_};
  std::thread thread_;
};

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() = default;

Result<std::unique_ptr<Server>> Server::listen(std::string_view address, AnswerPath answer) {
  auto impl = std::make_unique<Impl>(std::move(answer));
  MIST_TRY_VOID(impl->listen(address));
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

std::string Server::address() const { return impl_->address(); }

}  // namespace mist::http
