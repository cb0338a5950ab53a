#include "http/exchange.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "base/text.h"
#include "base/text_mask.h"
#include "base/url.h"
#include "http/over_limit.h"
#include "http/public_address.h"
#include "http/silent.h"
#include "http/unstarted.h"

namespace mist::http {
namespace {

// A watch whose reader is slow stops the transfer when this much waits for it.
constexpr std::size_t kWindow = std::size_t{1} << 20;
// Bodies below this go out at once; their progress needs no callback.
constexpr std::size_t kLongUpload = std::size_t{256} << 10;
// libcurl takes so much off a connection at once, or puts it there, where much is to be expected: each time
// costs a look at all connections. All exchanges of a client share the buffers.
constexpr long kLargeBuffer = 512L << 10;
// Announced lengths are only believed so far before bytes arrive.
constexpr std::uint64_t kMostReserved = std::uint64_t{16} << 20;

// A request that waits for a connection longer than its idle time looks this often if it got one.
constexpr std::chrono::milliseconds kLeastWait{50};

std::int64_t steady_nanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

SteadyTime steady_time(std::int64_t nanoseconds) {
  return SteadyTime(
      std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::nanoseconds(nanoseconds)));
}

bool is_token(std::string_view text) {
  constexpr std::string_view kOther = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           kOther.find(c) != std::string_view::npos;
  });
}

bool is_header_value(std::string_view text) {
  return std::ranges::none_of(text, [](char c) { return c == '\r' || c == '\n' || c == '\0'; });
}

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

std::string address_text(const sockaddr& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* bytes = address.sa_family == AF_INET
                          ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in&>(address).sin_addr)
                          : &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
  return ::inet_ntop(address.sa_family, bytes, text.data(), text.size()) == nullptr ? "" : text.data();
}

/// A dead peer must be noticed, and programs that we start must not inherit connections.
curl_socket_t open_socket(const curl_sockaddr* address) {
  const int fd = ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
  if (fd >= 0 && address->socktype == SOCK_STREAM) {
    // Bytes that nobody acknowledged for this long end the connection.
    const unsigned milliseconds = 30'000;
    ::setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds, sizeof milliseconds);
  }
  return fd;
}

curl_blob blob_of(const std::string& text) {
  // Options live as long as the client, and the rest as long as the exchange, so libcurl need not copy them.
  return {const_cast<char*>(text.data()), text.size(), CURL_BLOB_NOCOPY};
}

}  // namespace

std::string find_system_roots() {
  if (const char* file = std::getenv("SSL_CERT_FILE"); file != nullptr && *file != '\0') return file;
  for (const char* file :
       {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
        "/etc/pki/tls/cacert.pem", "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "/etc/ssl/cert.pem"})
    if (::access(file, R_OK) == 0) return file;
  return {};
}

const std::string& ExchangeSettings::system_roots_pem() const {
  std::call_once(read_, [this] {
    std::ifstream file(system_roots, std::ios::binary);
    pem_.assign(std::istreambuf_iterator<char>(file), {});
  });
  return pem_;
}

struct Exchange::Callbacks {
  static std::size_t header(char* data, std::size_t size, std::size_t count, void* self) {
    return static_cast<Exchange*>(self)->take_header({data, size * count});
  }
  static std::size_t body(char* data, std::size_t size, std::size_t count, void* self) {
    return static_cast<Exchange*>(self)->take_body({data, size * count});
  }
  static std::size_t read(char* to, std::size_t size, std::size_t count, void* self) {
    return static_cast<Exchange*>(self)->give_body({to, size * count});
  }
  // libcurl begins again where it repeats a request itself.
  static int seek(void* self, curl_off_t offset, int origin) {
    if (origin != SEEK_SET || offset < 0) return CURL_SEEKFUNC_FAIL;
    static_cast<Exchange*>(self)->read_to_ = static_cast<std::uint64_t>(offset);
    return CURL_SEEKFUNC_OK;
  }
  static int progress(void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t uploaded) {
    auto* exchange = static_cast<Exchange*>(self);
    if (uploaded != exchange->uploaded_) exchange->touch();
    exchange->uploaded_ = uploaded;
    return 0;
  }
  static curl_socket_t socket(void* self, curlsocktype, curl_sockaddr* address) {
    auto* exchange = static_cast<Exchange*>(self);
    if (!exchange->may_reach(address_text(address->addr))) return CURL_SOCKET_BAD;
    return open_socket(address);
  }
  static int sending(void* self, char* server, char*, int, int) {
    auto* exchange = static_cast<Exchange*>(self);
    // A connection may have been opened for another request.
    if (!exchange->may_reach(server == nullptr ? "" : server)) return CURL_PREREQFUNC_ABORT;
    // libcurl repeats a request by itself when a connection that it reused turns out to be closed. The server
    // may have acted on the first one.
    exchange->would_repeat_ = exchange->sendings_ > 0 && exchange->request_.repeat != Repeat::Safe;
    if (exchange->would_repeat_ || exchange->abandoned_.load(std::memory_order_relaxed))
      return CURL_PREREQFUNC_ABORT;
    // It may have waited for its connection for long, or the process was stopped meanwhile.
    if (!exchange->may_go_on() || !exchange->begin_sending()) return CURL_PREREQFUNC_ABORT;
    exchange->sent_now_ = true;
    exchange->by_http2_ = exchange->is_on_http2();
    exchange->hung_for_.reset();
    ++exchange->sendings_;
    exchange->touch();
    return CURL_PREREQFUNC_OK;
  }
  static CURLcode tls(CURL*, void* ssl_ctx, void* self) {
    watch_handshake(ssl_ctx, static_cast<Exchange*>(self)->tls_);
    return CURLE_OK;
  }
};

Result<std::shared_ptr<Exchange>> Exchange::create(const Request& request, Delivery delivery,
                                                   const ExchangeSettings& settings) {
  std::shared_ptr<Exchange> exchange(new Exchange(request, delivery, settings));
  MIST_TRY_VOID(exchange->prepare());
  return exchange;
}

Exchange::~Exchange() {
  if (easy_ != nullptr) curl_easy_cleanup(easy_);
  curl_slist_free_all(headers_);
  curl_slist_free_all(connect_to_);
}

Status Exchange::prepare() {
  if (!is_token(request_.method))
    return error(ErrorKind::Invalid, "'{}' is not an HTTP method", escape_controls(request_.method));
  MIST_TRY(url_, Url::parse(request_.url));
  frame_ = fmt::format("while sending {} {}", request_.method, loggable_url(request_.url));
  MIST_TRY_VOID(find_host_tls());

  easy_ = curl_easy_init();
  if (easy_ == nullptr)
    return error(ErrorKind::Internal, "the HTTP library can't start a request: no memory");
  const ClientOptions& options = settings_.options;
  curl_easy_setopt(easy_, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy_, CURLOPT_PROTOCOLS_STR, "http,https");
  // Name servers that don't answer must not hold up the end of the program.
  curl_easy_setopt(easy_, CURLOPT_QUICK_EXIT, 1L);
  curl_easy_setopt(easy_, CURLOPT_PATH_AS_IS, 1L);
  curl_easy_setopt(easy_, CURLOPT_ERRORBUFFER, error_buffer_.data());
  curl_easy_setopt(easy_, CURLOPT_USERAGENT, options.user_agent.c_str());
  curl_easy_setopt(easy_, CURLOPT_CONNECTTIMEOUT_MS,
                   static_cast<long>(std::max<std::int64_t>(
                       1, std::chrono::ceil<std::chrono::milliseconds>(connect_timeout()).count())));
  curl_easy_setopt(easy_, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(easy_, CURLOPT_TCP_KEEPIDLE, 15L);
  curl_easy_setopt(easy_, CURLOPT_TCP_KEEPINTVL, 15L);
  // Whenever the I/O thread says so: of a connection that is younger than this, libcurl sends no ping.
  curl_easy_setopt(easy_, CURLOPT_UPKEEP_INTERVAL_MS, 0L);
  const bool http2 = url_.scheme == "https";  // where the server offers it
  curl_easy_setopt(easy_, CURLOPT_HTTP_VERSION,
                   static_cast<long>(http2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1));
  // Rather wait for a connection that is being opened than open one more.
  curl_easy_setopt(easy_, CURLOPT_PIPEWAIT, http2 ? 1L : 0L);
  if (options.compression && delivery_ == Delivery::Whole)
    curl_easy_setopt(easy_, CURLOPT_ACCEPT_ENCODING, "gzip");
  prepare_method();
  MIST_TRY_VOID(prepare_route());
  MIST_TRY_VOID(prepare_headers());
  if (url_.scheme == "https" || proxy_.starts_with("https:")) prepare_tls();
  prepare_callbacks();
  return {};
}

void Exchange::prepare_method() {
  const bool has_body = !request_.body.empty() || request_.method == "POST" || request_.method == "PUT" ||
                        request_.method == "PATCH";
  if (request_.method == "HEAD") {
    curl_easy_setopt(easy_, CURLOPT_NOBODY, 1L);
  } else if (request_.source) {
    prepare_source();
  } else if (has_body) {
    curl_easy_setopt(easy_, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request_.body.size()));
    curl_easy_setopt(easy_, CURLOPT_POSTFIELDS, request_.body.c_str());
  } else {
    curl_easy_setopt(easy_, CURLOPT_HTTPGET, 1L);
  }
  if (request_.method != "HEAD") curl_easy_setopt(easy_, CURLOPT_CUSTOMREQUEST, request_.method.c_str());
}

void Exchange::prepare_source() {
  curl_easy_setopt(easy_, CURLOPT_UPLOAD, 1L);
  curl_easy_setopt(easy_, CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(request_.source->size()));
  curl_easy_setopt(easy_, CURLOPT_READFUNCTION, &Callbacks::read);
  curl_easy_setopt(easy_, CURLOPT_READDATA, this);
  curl_easy_setopt(easy_, CURLOPT_SEEKFUNCTION, &Callbacks::seek);
  curl_easy_setopt(easy_, CURLOPT_SEEKDATA, this);
}

/// Where the connection goes: proxy, and the detour for a TLS name that is not the host's.
Status Exchange::prepare_route() {
  const ClientOptions& options = settings_.options;
  std::string proxy;
  if (!options.proxy_url.empty()) {
    MIST_TRY(proxy, normal_proxy(options.proxy_url));
  } else {
    MIST_TRY(auto chosen, proxy_for(url_, options.proxy_environment));
    proxy = std::move(chosen).value_or("");
  }
  // Set even when empty: else libcurl would read the environment by its own rules.
  curl_easy_setopt(easy_, CURLOPT_PROXY, proxy.c_str());
  curl_easy_setopt(easy_, CURLOPT_NOPROXY, "");
  curl_easy_setopt(easy_, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  if (!proxy.empty()) proxy_ = loggable_url(proxy);
  if (request_.public_only && !proxy_.empty() && !may_be_public_host(url_.host)) return not_public(url_.host);

  Url target = url_;
  const std::string& name = options.tls.server_name;
  if (url_.scheme == "https" && !name.empty() && name != url_.host) {
    // libcurl takes SNI and the name to verify from the URL only, so the URL carries that name and the
    // connection goes elsewhere. The Host header stays what the caller asked for (prepare_headers).
    target.host = name;
    const std::string real = url_.authority();
    connect_to_ = curl_slist_append(nullptr, fmt::format("{}:{}", target.authority(), real).c_str());
    curl_easy_setopt(easy_, CURLOPT_CONNECT_TO, connect_to_);
  }
  std::string text = target.str();
  if (!url_.user.empty()) text = with_userinfo(text, url_.user);
  if (curl_easy_setopt(easy_, CURLOPT_URL, text.c_str()) != CURLE_OK)
    return error(ErrorKind::Invalid, "'{}' is not a URL that can be used", loggable_url(request_.url));
  return {};
}

Status Exchange::prepare_headers() {
  const auto add = [&](const std::string& line) { headers_ = curl_slist_append(headers_, line.c_str()); };
  for (const Header& header : request_.headers) {
    if (!is_token(header.name) || !is_header_value(header.value))
      return error(ErrorKind::Invalid, "the request header '{}' has characters that no header may have",
                   escape_controls(header.name));
    add(header.value.empty() ? header.name + ";" : fmt::format("{}: {}", header.name, header.value));
  }
  if (request_.authorization) {
    if (!is_header_value(request_.authorization->reveal()))
      return error(ErrorKind::Invalid, "the credentials for {} contain a line break", url_.authority())
          .with_hint("check the token file or the exec plugin: a token is one line");
    add("Authorization: " + request_.authorization->reveal());
  }
  // libcurl would add these; the first is a lie about our bodies, the second costs a round trip.
  if (find_header(request_.headers, "Content-Type").empty()) add("Content-Type:");
  add("Expect:");
  if (connect_to_ != nullptr && find_header(request_.headers, "Host").empty()) {
    constexpr std::size_t kAfterScheme = 3;  // "://"
    add("Host: " + url_.origin().substr(url_.scheme.size() + kAfterScheme));
  }
  curl_easy_setopt(easy_, CURLOPT_HTTPHEADER, headers_);
  // A proxy must not see Authorization.
  curl_easy_setopt(easy_, CURLOPT_HEADEROPT, static_cast<long>(CURLHEADER_SEPARATE));
  return {};
}

Status Exchange::find_host_tls() {
  const FindHostTls& find = settings_.options.find_host_tls;
  if (url_.scheme != "https" || !find) return {};
  MIST_TRY(host_tls_, find(url_));
  return {};
}

void Exchange::prepare_tls() {
  const TlsOptions& tls = settings_.options.tls;
  curl_easy_setopt(easy_, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  curl_easy_setopt(easy_, CURLOPT_SSL_VERIFYPEER, tls.insecure_skip_verify ? 0L : 1L);
  curl_easy_setopt(easy_, CURLOPT_SSL_VERIFYHOST, tls.insecure_skip_verify ? 0L : 2L);
  // A build of libcurl may have default places, which must not widen what is trusted.
  curl_easy_setopt(easy_, CURLOPT_CAPATH, nullptr);
  curl_easy_setopt(easy_, CURLOPT_CAINFO, nullptr);
  if (proxy_.starts_with("https:")) curl_easy_setopt(easy_, CURLOPT_PROXY_CAINFO, system_roots_file());
  if (!tls.insecure_skip_verify) trust_authorities();
  if (host_tls_ && !host_tls_->client_certificate_pem.empty())
    present(host_tls_->client_certificate_pem, host_tls_->client_key_pem);
  else if (!tls.client_certificate_pem.empty())
    present(tls.client_certificate_pem, tls.client_key_pem);
  curl_easy_setopt(easy_, CURLOPT_SSL_CTX_FUNCTION, &Callbacks::tls);
  curl_easy_setopt(easy_, CURLOPT_SSL_CTX_DATA, this);
}

const char* Exchange::system_roots_file() const {
  return settings_.system_roots.empty() ? nullptr : settings_.system_roots.c_str();
}

/// One text holds them all: certificates added to the store of a connection would count for other servers,
/// since libcurl shares that store between all that trust the same file.
void Exchange::trust_authorities() {
  const std::string& given = settings_.options.tls.ca_pem;
  const std::string* trusted = &given;
  if (host_tls_ && !host_tls_->ca_pem.empty()) {
    trusted_pem_ =
        fmt::format("{}\n{}", given.empty() ? settings_.system_roots_pem() : given, host_tls_->ca_pem);
    trusted = &trusted_pem_;
  }
  if (trusted->empty()) {
    curl_easy_setopt(easy_, CURLOPT_CAINFO, system_roots_file());
    return;
  }
  curl_blob authorities = blob_of(*trusted);
  curl_easy_setopt(easy_, CURLOPT_CAINFO_BLOB, &authorities);
}

void Exchange::present(const std::string& certificate_pem, const SecretString& key_pem) {
  curl_blob certificate = blob_of(certificate_pem);
  curl_blob key = blob_of(key_pem.reveal());
  curl_easy_setopt(easy_, CURLOPT_SSLCERTTYPE, "PEM");
  curl_easy_setopt(easy_, CURLOPT_SSLCERT_BLOB, &certificate);
  curl_easy_setopt(easy_, CURLOPT_SSLKEYTYPE, "PEM");
  curl_easy_setopt(easy_, CURLOPT_SSLKEY_BLOB, &key);
  // Else OpenSSL would ask for the password of an encrypted key on the terminal.
  curl_easy_setopt(easy_, CURLOPT_KEYPASSWD, "");
}

void Exchange::prepare_callbacks() {
  curl_easy_setopt(easy_, CURLOPT_PRIVATE, this);
  curl_easy_setopt(easy_, CURLOPT_HEADERFUNCTION, &Callbacks::header);
  curl_easy_setopt(easy_, CURLOPT_HEADERDATA, this);
  curl_easy_setopt(easy_, CURLOPT_WRITEFUNCTION, &Callbacks::body);
  curl_easy_setopt(easy_, CURLOPT_WRITEDATA, this);
  curl_easy_setopt(easy_, CURLOPT_PREREQFUNCTION, &Callbacks::sending);
  curl_easy_setopt(easy_, CURLOPT_PREREQDATA, this);
  curl_easy_setopt(easy_, CURLOPT_OPENSOCKETFUNCTION, &Callbacks::socket);
  curl_easy_setopt(easy_, CURLOPT_OPENSOCKETDATA, this);
  if (delivery_ == Delivery::Pieces) curl_easy_setopt(easy_, CURLOPT_BUFFERSIZE, kLargeBuffer);
  if (body_size(request_) < kLongUpload) return;
  curl_easy_setopt(easy_, CURLOPT_UPLOAD_BUFFERSIZE, kLargeBuffer);
  curl_easy_setopt(easy_, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(easy_, CURLOPT_XFERINFOFUNCTION, &Callbacks::progress);
  curl_easy_setopt(easy_, CURLOPT_XFERINFODATA, this);
}

void Exchange::abandon() {
  abandoned_.store(true, std::memory_order_relaxed);
  {
    const std::scoped_lock lock(asking_);
    may_be_sent_ = {};
  }
  const std::scoped_lock lock(reading_);
  is_left_ = true;
}

bool Exchange::hold_back() {
  const std::scoped_lock lock(asking_);
  held_back_ = true;
  return sent_ && request_.await_answer > Duration::zero();
}

Error Exchange::not_public(std::string_view address) const {
  return error(ErrorKind::Forbidden, "{} is not a server of the Internet", url_.authority())
      .with_because(url_.host == address
                        ? std::string("its address is of this machine or of a private network")
                        : fmt::format("it is at {}, an address of this machine or of a private network",
                                      escape_controls(address)));
}

// --- the I/O thread

bool Exchange::may_reach(const std::string& address) {
  if (!request_.public_only || !proxy_.empty() || is_public_address(address)) return true;
  const std::scoped_lock lock(asking_);
  refused_ = not_public(address);
  return false;
}

bool Exchange::begin_sending() {
  const std::scoped_lock lock(asking_);
  sent_ = sent_ || !held_back_;
  return !held_back_;
}

bool Exchange::may_go_on() {
  const std::scoped_lock lock(asking_);
  if (ended_) return false;
  if (!may_be_sent_) return true;
  Status says = may_be_sent_();
  if (!says.ok()) ended_ = std::move(says).error();
  return !ended_;
}

void Exchange::reset_connection() {
  {
    const std::scoped_lock lock(asking_);
    if (!ended_ || ended_->kind == ErrorKind::Timeout || ended_->kind == ErrorKind::Cancelled) return;
  }
  curl_socket_t fd = CURL_SOCKET_BAD;
  if (curl_easy_getinfo(easy_, CURLINFO_ACTIVESOCKET, &fd) != CURLE_OK || fd == CURL_SOCKET_BAD) return;
  // To nowhere: the kernel forgets what it holds of the stream, and tells the other side that it is over.
  sockaddr nowhere{};
  nowhere.sa_family = AF_UNSPEC;
  ::connect(fd, &nowhere, sizeof nowhere);
}

bool Exchange::is_on_http2() const {
  curl_tlssessioninfo* session = nullptr;
  if (curl_easy_getinfo(easy_, CURLINFO_TLS_SSL_PTR, &session) != CURLE_OK || session == nullptr)
    return false;
  return session->backend == CURLSSLBACKEND_OPENSSL && has_chosen_http2(session->internals);
}

std::optional<Exchange::Link> Exchange::http2_link() const {
  if (!by_http2_) return std::nullopt;
  curl_off_t id = -1;
  curl_socket_t fd = CURL_SOCKET_BAD;
  if (curl_easy_getinfo(easy_, CURLINFO_ACTIVESOCKET, &fd) != CURLE_OK || fd == CURL_SOCKET_BAD ||
      curl_easy_getinfo(easy_, CURLINFO_CONN_ID, &id) != CURLE_OK)
    return std::nullopt;
  return Link{id, fd};
}

bool Exchange::opened_http1() const {
  long opened = 0;
  return sendings_ > 0 && !by_http2_ &&
         curl_easy_getinfo(easy_, CURLINFO_NUM_CONNECTS, &opened) == CURLE_OK && opened > 0;
}

void Exchange::touch() { last_activity_.store(steady_nanoseconds(), std::memory_order_relaxed); }

std::size_t Exchange::give_body(std::span<char> room) {
  const std::uint64_t left = request_.source->size() - std::min(read_to_, request_.source->size());
  const std::span<char> to = room.first(static_cast<std::size_t>(std::min<std::uint64_t>(room.size(), left)));
  const std::scoped_lock lock(reading_);
  if (is_left_) return CURL_READFUNC_ABORT;
  if (Status read = request_.source->read(read_to_, to); !read.ok()) {
    unread_ = std::move(read).error();
    return CURL_READFUNC_ABORT;
  }
  read_to_ += to.size();
  return to.size();
}

std::size_t Exchange::take_header(std::string_view line) {
  touch();
  answered_.store(true, std::memory_order_relaxed);
  if (line.starts_with("HTTP/")) {
    // A new status line: what came before was 100 Continue or the like.
    response_.headers.clear();
    response_.status = 0;
    if (const std::size_t blank = line.find(' '); blank != std::string_view::npos) {
      const std::string_view code = line.substr(blank + 1);
      std::from_chars(code.data(), code.data() + code.size(), response_.status);
    }
    return line.size();
  }
  if (const std::size_t colon = line.find(':'); colon != std::string_view::npos)
    response_.headers.push_back(
        {std::string(trim(line.substr(0, colon))), std::string(trim(line.substr(colon + 1)))});
  return line.size();
}

std::size_t Exchange::take_body(std::string_view piece) {
  touch();
  if (abandoned_.load(std::memory_order_relaxed)) return CURL_WRITEFUNC_ERROR;
  if (delivery_ == Delivery::Pieces && response_.status / 100 == 2) {
    const std::scoped_lock lock(mutex_);
    if (pieces_.size() >= kWindow) {
      paused_ = true;
      held_ = true;
      return CURL_WRITEFUNC_PAUSE;
    }
    if (received_ == 0) head_ = response_;
    received_ += piece.size();
    pieces_ += piece;
    changed_.notify_all();
    return piece.size();
  }
  if (received_ + piece.size() > request_.response_limit) {
    over_limit_ = true;
    return CURL_WRITEFUNC_ERROR;
  }
  if (received_ == 0) {
    curl_off_t announced = -1;
    curl_easy_getinfo(easy_, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &announced);
    if (announced > 0) response_.body.reserve(std::min(static_cast<std::uint64_t>(announced), kMostReserved));
  }
  received_ += piece.size();
  response_.body += piece;
  return piece.size();
}

void Exchange::finish(int code) {
  {
    const std::scoped_lock lock(mutex_);
    if (done_) return;
    done_ = true;
    code_ = code;
  }
  // Without the lock, which the woken thread would have to wait for. The exchange is still there: the I/O
  // thread shares its ownership.
  changed_.notify_all();
}

// --- the calling thread

Exchange::Woken Exchange::wait(const Context& context) {
  const Duration idle = request_.idle_timeout.value_or(settings_.options.idle_timeout);
  std::unique_lock lock(mutex_);
  while (true) {
    // An answer that is here is worth more than an end of the wait for it.
    if (done_ && pieces_.empty()) return Woken::Done;
    if (context.stop().stop_requested()) return Woken::Stopped;
    if (!pieces_.empty()) return Woken::Data;

    const std::int64_t active = last_activity_.load(std::memory_order_relaxed);
    const bool started = active != 0;
    // Waiting for a connection can't last longer than another exchange that occupies it and then opening one.
    const SteadyTime due = started ? steady_time(active) + idle : created_ + connect_timeout() + idle;
    const SteadyTime now = std::chrono::steady_clock::now();
    if (context.deadline() && now >= *context.deadline()) return Woken::Deadline;
    if (now >= due) return started ? Woken::Idle : Woken::Unstarted;
    // Activity wakes nobody, which would cost a switch of threads for each request; so look again when the
    // idle time could be over at the earliest.
    const SteadyTime earliest = std::max(now + kLeastWait, std::min(due, created_ + idle));
    const SteadyTime look = started ? due : earliest;
    changed_.wait_until(lock, std::min(look, context.deadline().value_or(look)));
  }
}

void Exchange::notify() {
  const std::scoped_lock lock(mutex_);
  changed_.notify_all();
}

std::string Exchange::take_pieces(bool& resume) {
  const std::scoped_lock lock(mutex_);
  resume = paused_;
  paused_ = false;
  return std::exchange(pieces_, {});
}

void Exchange::restart_idle_clock() { touch(); }

Response Exchange::head() const {
  const std::scoped_lock lock(mutex_);
  return head_;
}

Failure Exchange::failure() const {
  Failure failure;
  failure.code = code_;
  failure.detail = trim(error_buffer_.data());
  long value = 0;
  if (curl_easy_getinfo(easy_, CURLINFO_OS_ERRNO, &value) == CURLE_OK)
    failure.os_error = static_cast<int>(value);
  if (curl_easy_getinfo(easy_, CURLINFO_HTTP_CONNECTCODE, &value) == CURLE_OK)
    failure.proxy_status = static_cast<int>(value);
  failure.url = url_;
  failure.server_name = settings_.options.tls.server_name;
  failure.proxy = proxy_;
  failure.sent = sendings_ > 0;
  failure.received = received_;
  failure.host_tls = host_tls_;
  failure.client_certificate_pem = host_tls_ && !host_tls_->client_certificate_pem.empty()
                                       ? host_tls_->client_certificate_pem
                                       : settings_.options.tls.client_certificate_pem;
  failure.has_client_certificate = !failure.client_certificate_pem.empty();
  failure.connect_timeout = connect_timeout();
  failure.tls = *tls_;
  return failure;
}

namespace {

// Shorter ones are words of any text, and members of the JSON that programs read: "code", "reason".
constexpr std::size_t kLeastHidden = 8;

// A server may repeat in an error what it was sent, and what it says of an error is shown.
std::string without_credentials(std::string body, const std::string& authorization) {
  const auto scheme = std::min(authorization.find(' '), authorization.size());
  std::vector<std::string> hidden;
  const auto hide = [&](std::string_view text) {
    if (text.size() >= kLeastHidden) hidden.emplace_back(text);
  };
  const std::string_view credentials = trim(std::string_view(authorization).substr(scheme));
  hide(credentials);
  if (std::string login;
      lower_case(authorization.substr(0, scheme)) == "basic" && base64_decode(credentials, login))
    hide(std::string_view(login).substr(login.find(':') + 1));
  return TextMask(std::move(hidden)).masked(std::move(body), "***");
}

}  // namespace

Result<Response> Exchange::result() {
  if (code_ == CURLE_OK) {
    if (response_.status >= 400 && request_.authorization)
      response_.body = without_credentials(std::move(response_.body), request_.authorization->reveal());
    return std::move(response_);
  }
  {
    const std::scoped_lock lock(asking_);
    if (ended_) return *std::move(ended_);
    if (refused_) return *std::move(refused_);
  }
  {
    const std::scoped_lock lock(reading_);
    if (unread_) return *std::move(unread_);
  }
  const std::string server = url_.authority();
  if (code_ == kClosed)
    return error(ErrorKind::Cancelled, "the connections were closed while {} was asked", server);
  if (over_limit_)
    return error(ErrorKind::Invalid, "the answer of {} is larger than the {} bytes allowed", server,
                 request_.response_limit)
        .with_detail(OverLimit());
  if (hung_for_) return hung_error(*hung_for_);
  if (would_repeat_)
    return undelivered(Sent::Maybe, fmt::format("the connection to {} broke before an answer came", server));
  return describe_failure(failure(), std::chrono::system_clock::now());
}

Error Exchange::idle_error() const {
  const Duration idle = request_.idle_timeout.value_or(settings_.options.idle_timeout);
  return undelivered(Sent::Maybe, fmt::format("{} sent nothing for {:g} s", url_.authority(), seconds(idle)))
      .with_hint("the server hangs or is overloaded; look at its logs")
      .with_detail(Silent());
}

Error Exchange::hung_error(Duration silence) const {
  return undelivered(
             Sent::Maybe,
             fmt::format("the connection to {} hangs: nothing came for {:g} s, not even the answer to a ping",
                         url_.authority(), seconds(silence)))
      .with_hint("a load balancer, VPN or NAT on the way may have lost the connection; a new one is made");
}

Error Exchange::deadline_error(Error why) {
  const std::scoped_lock lock(asking_);
  if (sent_) return why;
  return std::move(why)
      .with_because(
          fmt::format("no connection to {} became free, or came about, before that", url_.authority()))
      .with_hint("the connections that are allowed at once may all be busy, or the network lets none through")
      .with_detail(Unstarted());
}

Error Exchange::unstarted_error() const {
  return undelivered(Sent::Nothing,
                     fmt::format("no connection to {} became free within {:g} s", url_.authority(),
                                 seconds(connect_timeout() + settings_.options.idle_timeout)))
      .with_hint("all connections that are allowed at once are busy");
}

}  // namespace mist::http
