#pragma once
// The notation of keys, signatures and requests: DER (X.690), and PEM around it (RFC 7468). Pure; any
// thread.

#include <string>
#include <string_view>

namespace mist::crypto {

/// X.690, section 8.1: tag, length, content.
std::string der_element(char tag, std::string_view content);
/// "-----BEGIN LABEL-----", in lines of 64.
std::string pem_block(std::string_view label, std::string_view der);

}  // namespace mist::crypto
