// catalog_load PORT PLAN OUT [CONNECTIONS]: sends the requests of PLAN to 127.0.0.1, each at its time,
// however late the answers are (open loop), over CONNECTIONS (64) that are kept. OUT gets a line for each
// request:
//
//   <status> <latency> <bytes> <late> <body>
//
// Microseconds; latency counts from the time that the plan has, so that a request which waits for a
// connection, because earlier ones are slow, counts as slow. Late: by how much it was sent after that time.
// Status 0: no answer came. The body, of at most 200 bytes and without line ends, is of requests that ask for
// it.
//
// PLAN: for each request "<microseconds> <keep body: 0 or 1> <length>\n" and so many bytes, in order of time.
// Standard output gets what this program itself used, as JSON: so one sees that it isn't what is measured.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

struct Request {
  long at = 0;  // microseconds
  bool keep = false;
  std::string_view bytes;
  int status = 0;
  long latency = 0, late = 0;
  std::size_t size = 0;
  std::string body = {};
};

struct Connection {
  int fd = -1;
  long request = -1;  // -1: it is idle
  std::size_t sent = 0;
  std::string got = {};
  std::size_t body_begins = 0, length = 0;  // 0: the header isn't whole
  bool closes = false;
};

long since(Clock::time_point began) {
  return std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - began).count();
}

std::vector<Request> read_plan(const std::string& text) {
  std::vector<Request> plan;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    Request request;
    char* next = nullptr;
    request.at = std::strtol(at, &next, 10);
    request.keep = std::strtol(next, &next, 10) != 0;
    const long size = std::strtol(next, &next, 10);
    request.bytes = {next + 1, static_cast<std::size_t>(size)};
    plan.push_back(request);
    at = next + 1 + size;
  }
  return plan;
}

class Load {
 public:
  Load(std::uint16_t port, std::vector<Request>& plan, std::size_t connections)
      : port_(port), plan_(plan), connections_(connections), poll_(::epoll_create1(EPOLL_CLOEXEC)) {}

  void run() {
    for (std::size_t i = 0; i < connections_.size(); ++i) {
      open(i);
      idle_.push_back(i);
    }
    began_ = Clock::now();
    while (next_ < plan_.size() || !waiting_.empty() || idle_.size() < connections_.size()) {
      for (; next_ < plan_.size() && plan_[next_].at <= since(began_); ++next_)
        waiting_.push_back(static_cast<long>(next_));
      while (!waiting_.empty() && !idle_.empty()) {
        const long request = waiting_.front();
        waiting_.pop_front();
        begin(request);
      }
      // A server that hasn't answered for so long after the last request won't.
      if (next_ == plan_.size() && since(began_) > plan_.back().at + kPatience) break;
      wait();
    }
    seconds_ = static_cast<double>(since(began_)) / 1e6;
  }
  double seconds() const { return seconds_; }

 private:
  static constexpr long kPatience = 10'000'000;
  static constexpr int kEvents = 64;

  void open(std::size_t i) {
    Connection& one = connections_[i];
    one = {};
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port_);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      ::close(fd);
      return;
    }
    const int yes = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    one.fd = fd;
    epoll_event event{.events = EPOLLIN, .data = {.u64 = i}};
    ::epoll_ctl(poll_, EPOLL_CTL_ADD, fd, &event);
  }

  void begin(long number) {
    const std::size_t i = idle_.back();
    idle_.pop_back();
    if (connections_[i].fd < 0) open(i);
    Connection& one = connections_[i];
    Request& request = plan_[static_cast<std::size_t>(number)];
    request.late = since(began_) - request.at;
    one.request = number;
    if (one.fd < 0) return end(i, false);
    send(i);
  }

  void send(std::size_t i) {
    Connection& one = connections_[i];
    const std::string_view bytes = plan_[static_cast<std::size_t>(one.request)].bytes;
    const ssize_t size =
        ::send(one.fd, bytes.data() + one.sent, bytes.size() - one.sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (size < 0 && errno != EAGAIN) return end(i, false);
    if (size > 0) one.sent += static_cast<std::size_t>(size);
    epoll_event event{.events = EPOLLIN, .data = {.u64 = i}};
    if (one.sent < bytes.size()) event.events |= EPOLLOUT;
    if (size != static_cast<ssize_t>(bytes.size())) ::epoll_ctl(poll_, EPOLL_CTL_MOD, one.fd, &event);
  }

  void wait() {
    long left = 100'000;
    if (next_ < plan_.size()) left = std::clamp(plan_[next_].at - since(began_), 0L, left);
    const timespec time{.tv_sec = 0, .tv_nsec = left * 1000};
    epoll_event events[kEvents];
    const int count = ::epoll_pwait2(poll_, events, kEvents, &time, nullptr);
    for (int e = 0; e < count; ++e) {
      const std::size_t i = events[e].data.u64;
      if ((events[e].events & EPOLLOUT) != 0 && connections_[i].request >= 0) send(i);
      if ((events[e].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0 && connections_[i].fd >= 0) receive(i);
    }
  }

  void receive(std::size_t i) {
    Connection& one = connections_[i];
    static char buffer[256 << 10];
    const ssize_t size = ::recv(one.fd, buffer, sizeof buffer, MSG_DONTWAIT);
    if (size < 0 && errno == EAGAIN) return;
    if (size <= 0) {
      if (one.request >= 0) return end(i, false);
      close(one);
      return;
    }
    one.got.append(buffer, static_cast<std::size_t>(size));
    if (one.body_begins == 0 && !read_header(one)) return;
    if (one.got.size() >= one.body_begins + one.length) end(i, true);
  }

  // Servers of ours always say the length.
  static bool read_header(Connection& one) {
    const auto blank = one.got.find("\r\n\r\n");
    if (blank == std::string::npos) return false;
    one.body_begins = blank + 4;
    std::string header = one.got.substr(0, blank);
    for (char& c : header) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    const auto length = header.find("\r\ncontent-length: ");
    if (length != std::string::npos) one.length = std::strtoul(header.c_str() + length + 18, nullptr, 10);
    one.closes = header.find("\r\nconnection: close") != std::string::npos;
    return true;
  }

  void end(std::size_t i, bool answered) {
    Connection& one = connections_[i];
    Request& request = plan_[static_cast<std::size_t>(one.request)];
    request.latency = since(began_) - request.at;
    if (answered) {
      request.status = std::atoi(one.got.c_str() + one.got.find(' ') + 1);
      request.size = one.got.size();
      if (request.keep) request.body = one.got.substr(one.body_begins, 200);
    }
    if (!answered || one.closes) close(one);
    one.request = -1;
    one.sent = one.body_begins = one.length = 0;
    one.got.clear();
    idle_.push_back(i);
  }

  static void close(Connection& one) {
    if (one.fd >= 0) ::close(one.fd);
    one.fd = -1;
  }

  const std::uint16_t port_;
  std::vector<Request>& plan_;
  std::vector<Connection> connections_;
  const int poll_;
  std::vector<std::size_t> idle_;
  std::deque<long> waiting_;
  std::size_t next_ = 0;
  Clock::time_point began_;
  double seconds_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fputs("usage: catalog_load PORT PLAN OUT [CONNECTIONS]\n", stderr);
    return 2;
  }
  std::ifstream file(argv[2], std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::vector<Request> plan = read_plan(text);
  Load load(static_cast<std::uint16_t>(std::atoi(argv[1])), plan,
            argc > 4 ? static_cast<std::size_t>(std::atoi(argv[4])) : 64);
  load.run();
  std::FILE* const out = std::fopen(argv[3], "w");
  if (out == nullptr) {
    std::perror(argv[3]);
    return 1;
  }
  for (Request& request : plan) {
    for (char& c : request.body)
      if (c == '\n' || c == '\r') c = ' ';
    std::fprintf(out, "%d %ld %zu %ld %s\n", request.status, request.latency, request.size, request.late,
                 request.body.c_str());
  }
  std::fclose(out);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("{\"seconds\": %.3f, \"cpu\": %.3f}\n", load.seconds(),
              static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                  static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6);
  return 0;
}
