#include "http/server_tls.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "http/server_stream.h"

namespace mist::http {

ServerTls::ServerTls(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ServerTls::~ServerTls() = default;

Result<std::shared_ptr<const ServerTls>> ServerTls::of(const std::string& certificate_pem,
                                                       const SecretString& key_pem) {
  namespace ssl = boost::asio::ssl;
  auto impl = std::make_unique<Impl>();
  ssl::context& context = impl->context;
  MIST_CHECK(SSL_CTX_set_min_proto_version(context.native_handle(), TLS1_2_VERSION) == 1);
  // Without a callback OpenSSL asks the terminal for the passphrase of an encrypted key.
  context.set_password_callback([](std::size_t, ssl::context::password_purpose) { return std::string(); });
  const auto buffer = [](const std::string& text) {
    return boost::asio::const_buffer(text.data(), text.size());
  };
  const auto invalid = [](std::string_view what, const boost::system::error_code& failed) {
    ERR_clear_error();
    return error(ErrorKind::Invalid, "{}", what)
        .with_because(failed.message())
        .with_hint("give a certificate in PEM, perhaps followed by its chain, and its key, not encrypted");
  };
  boost::system::error_code failed;
  if (context.use_certificate_chain(buffer(certificate_pem), failed); failed)
    return invalid("the server's certificate can't be read", failed);
  if (context.use_private_key(buffer(key_pem.reveal()), ssl::context::pem, failed); failed)
    return invalid("the key can't be read, or isn't that of the server's certificate", failed);
  return std::shared_ptr<const ServerTls>(new ServerTls(std::move(impl)));
}

}  // namespace mist::http
