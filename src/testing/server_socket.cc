#include "testing/server_socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/pem.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include "base/error.h"

namespace mist::testing {

UniqueFd bound_socket(std::uint16_t& port) {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  MIST_CHECK(::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  socklen_t size = sizeof address;
  MIST_CHECK(::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
  port = ntohs(address.sin_port);
  return fd;
}

ServerContext make_context(const ServerTls& tls) {
  ServerContext context(SSL_CTX_new(TLS_server_method()));
  const auto read = [](const std::string& pem) {
    return Handle<BIO, &BIO_free_all>(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  };
  const auto certificate_text = read(tls.certificate_pem);
  const Handle<X509, &X509_free> certificate(
      PEM_read_bio_X509(certificate_text.get(), nullptr, nullptr, nullptr));
  const auto key_text = read(tls.key_pem);
  const Handle<EVP_PKEY, &EVP_PKEY_free> key(
      PEM_read_bio_PrivateKey(key_text.get(), nullptr, nullptr, nullptr));
  MIST_CHECK(SSL_CTX_use_certificate(context.get(), certificate.get()) == 1);
  MIST_CHECK(SSL_CTX_use_PrivateKey(context.get(), key.get()) == 1);
  if (!tls.client_ca_pem.empty()) {
    const auto ca_text = read(tls.client_ca_pem);
    const Handle<X509, &X509_free> ca(PEM_read_bio_X509(ca_text.get(), nullptr, nullptr, nullptr));
    MIST_CHECK(X509_STORE_add_cert(SSL_CTX_get_cert_store(context.get()), ca.get()) == 1);
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  }
  return context;
}

void block_sigpipe() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

ServerSocket::ServerSocket(UniqueFd fd) : fd_(std::move(fd)) {
  // Answers in several small writes would wait for the client's delayed acknowledgements.
  const int on = 1;
  ::setsockopt(fd_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

bool ServerSocket::handshake(SSL_CTX* context) {
  ssl_.reset(SSL_new(context));
  SSL_set_fd(ssl_.get(), fd_.get());
  return SSL_accept(ssl_.get()) == 1;
}

bool ServerSocket::receive() {
  std::array<char, 16384> chunk;
  const long got = ssl_ ? SSL_read(ssl_.get(), chunk.data(), static_cast<int>(chunk.size()))
                        : ::recv(fd_.get(), chunk.data(), chunk.size(), 0);
  if (got <= 0) return false;
  buffer_.append(chunk.data(), static_cast<std::size_t>(got));
  return true;
}

bool ServerSocket::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const long put = ssl_ ? SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size()))
                          : ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (put <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

std::string ServerSocket::client_subject() const {
  if (!ssl_) return {};
  const Handle<X509, &X509_free> certificate(SSL_get1_peer_certificate(ssl_.get()));
  std::array<char, 256> name{};
  if (!certificate || X509_NAME_get_text_by_NID(X509_get_subject_name(certificate.get()), NID_commonName,
                                                name.data(), static_cast<int>(name.size())) < 0)
    return {};
  return name.data();
}

std::string ServerSocket::sni() const {
  const char* name = ssl_ ? SSL_get_servername(ssl_.get(), TLSEXT_NAMETYPE_host_name) : nullptr;
  return name != nullptr ? name : "";
}

void ServerSocket::interrupt() { ::shutdown(fd_.get(), SHUT_RDWR); }

void ServerSocket::finish(bool clean) {
  if (clean && ssl_) SSL_shutdown(ssl_.get());
  ::shutdown(fd_.get(), SHUT_RDWR);
}

void ServerSocket::reset() {
  const linger now{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(fd_.get(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
  // The descriptor's number must stay ours until the server ends, so the socket is replaced under it.
  const UniqueFd nothing(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ::dup3(nothing.get(), fd_.get(), O_CLOEXEC);
}

}  // namespace mist::testing
