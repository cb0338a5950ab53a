#include "testing/h2_server.h"

#include <fmt/core.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>

#include "base/error.h"

namespace mist::testing {
namespace {

// RFC 9113 section 6.
enum FrameType : unsigned char {
  kData = 0,
  kHeaders = 1,
  kReset = 3,
  kSettings = 4,
  kPing = 6,
  kGoAway = 7,
  kWindowUpdate = 8
};
constexpr unsigned char kEndStream = 1, kAck = 1, kEndHeaders = 4, kPadded = 8;
constexpr std::uint32_t kInternalError = 2, kRefusedStream = 7;
// Both sides' frames are of this size at most, unless they agree on more.
constexpr std::size_t kFrame = 16384;
constexpr std::size_t kFilling = (std::size_t{1} << 20) + 4 * kFrame;
constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
// HPACK: entry 8 of the static table is ":status: 200".
constexpr std::string_view kStatus200 = "\x88";

std::string number(std::uint32_t value) {
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift & 255);
  return out;
}

std::string frame(unsigned char type, unsigned char flags, std::uint32_t stream, std::string_view payload) {
  std::string out = number(static_cast<std::uint32_t>(payload.size())).substr(1);
  out += static_cast<char>(type);
  out += static_cast<char>(flags);
  return out + number(stream) + std::string(payload);
}

int choose_h2(SSL*, const unsigned char** out, unsigned char* size, const unsigned char* offered,
              unsigned offered_size, void*) {
  static constexpr unsigned char kH2[] = "\x02h2";
  unsigned char* chosen = nullptr;
  const int result = SSL_select_next_proto(&chosen, size, kH2, 3, offered, offered_size);
  *out = chosen;
  return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

}  // namespace

class H2Server::Session {
 public:
  Session(ServerSocket& socket, H2Server& server) : socket_(socket), server_(server) {}

  void run() {
    if (!need(kPreface.size()) || !socket_.buffer().starts_with(kPreface)) return;
    socket_.buffer().erase(0, kPreface.size());
    socket_.send(frame(kSettings, 0, 0, ""));
    while (!server_.stopping_ && !ended_ && need(9)) {
      const std::string head = socket_.buffer().substr(0, 9);
      const auto at = [&](std::size_t i) { return static_cast<unsigned char>(head[i]); };
      const std::size_t size = std::size_t{at(0)} << 16 | std::size_t{at(1)} << 8 | at(2);
      const std::uint32_t stream =
          (std::uint32_t{at(5)} << 24 | std::uint32_t{at(6)} << 16 | std::uint32_t{at(7)} << 8 | at(8)) &
          0x7fffffffu;
      if (!need(9 + size)) return;
      const std::string payload = socket_.buffer().substr(9, size);
      socket_.buffer().erase(0, 9 + size);
      take(at(3), at(4), stream, payload);
    }
  }

 private:
  bool need(std::size_t size) {
    while (socket_.buffer().size() < size)
      if (!socket_.receive()) return false;
    return true;
  }

  void take(unsigned char type, unsigned char flags, std::uint32_t stream, std::string_view payload) {
    if (swallows_) return;
    if (type == kSettings && (flags & kAck) == 0) socket_.send(frame(kSettings, kAck, 0, ""));
    if (type == kPing && (flags & kAck) == 0) {
      socket_.send(frame(kPing, kAck, 0, payload));
      ++server_.pings_;
    }
    if (type == kReset) ++server_.cancelled_, std::erase(gathered_, stream);
    if (type == kData && !payload.empty()) {
      if ((flags & kPadded) == 0) bodies_[stream] += payload;
      const std::string more = number(static_cast<std::uint32_t>(payload.size()));
      socket_.send(frame(kWindowUpdate, 0, 0, more) + frame(kWindowUpdate, 0, stream, more));
    }
    if ((type == kData || type == kHeaders) && (flags & kEndStream) != 0) answer(stream, bodies_[stream]);
  }

  void answer(std::uint32_t stream, const std::string& body) {
    ++server_.requests_;
    if (body.empty()) return ok(stream, "ok");
    if (body.starts_with("echo")) return ok(stream, body);
    if (body == "swallow") swallows_ = true;
    if (body == "break") socket_.reset(), ended_ = true;
    if (body == "reset") socket_.send(frame(kReset, 0, stream, number(kInternalError)));
    if (body == "refuse") socket_.send(frame(kReset, 0, stream, number(kRefusedStream)));
    if (body == "part") {
      socket_.send(frame(kHeaders, kEndHeaders, stream, kStatus200) + frame(kData, 0, stream, "part"));
      part_ = stream;
    }
    if (body == "fill") {
      for (std::size_t sent = 0; sent < kFilling; sent += kFrame)
        socket_.send(frame(kData, 0, part_, std::string(kFrame, 'x')));
      ok(stream, "filled");
    }
    if (body == "goaway") {
      socket_.send(frame(kGoAway, 0, 0, number(stream - 2) + number(0)));
      ended_ = true;
    }
    if (body.starts_with("gather ")) {
      gathered_.push_back(stream);
      if (gathered_.size() < std::strtoul(body.c_str() + 7, nullptr, 10)) return;
      for (const std::uint32_t waiting : gathered_) ok(waiting, "together");
      gathered_.clear();
    }
  }

  void ok(std::uint32_t stream, std::string_view body) {
    socket_.send(frame(kHeaders, kEndHeaders, stream, kStatus200) + frame(kData, kEndStream, stream, body));
  }

  ServerSocket& socket_;
  H2Server& server_;
  std::map<std::uint32_t, std::string> bodies_;
  std::vector<std::uint32_t> gathered_;
  std::uint32_t part_ = 0;  // the last stream of a "part"
  bool ended_ = false;
  bool swallows_ = false;
};

H2Server::H2Server(const ServerTls& tls) : context_(make_context(tls)), listener_(bound_socket(port_)) {
  SSL_CTX_set_alpn_select_cb(context_.get(), &choose_h2, nullptr);
  MIST_CHECK(::listen(listener_.get(), 128) == 0);
  accepting_ = std::thread(&H2Server::accept_all, this);
}

H2Server::~H2Server() {
  stopping_ = true;
  ::shutdown(listener_.get(), SHUT_RDWR);
  accepting_.join();
  {
    const std::scoped_lock lock(mutex_);
    for (const auto& socket : sockets_) socket->interrupt();
  }
  for (std::thread& thread : threads_) thread.join();
}

std::string H2Server::url() const { return fmt::format("https://127.0.0.1:{}/", port_); }

void H2Server::accept_all() {
  block_sigpipe();
  while (!stopping_) {
    UniqueFd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!fd) continue;
    ++accepted_;
    auto socket = std::make_unique<ServerSocket>(std::move(fd));
    ServerSocket& borrowed = *socket;
    {
      const std::scoped_lock lock(mutex_);
      sockets_.push_back(std::move(socket));
    }
    threads_.emplace_back([this, &borrowed] {
      block_sigpipe();
      if (borrowed.handshake(context_.get())) Session(borrowed, *this).run();
      borrowed.finish(true);
    });
  }
}

}  // namespace mist::testing
