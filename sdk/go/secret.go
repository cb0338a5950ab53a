package mistletoe

// Secrets stay: the host derives each from the release's seed and from names, so that the same release gets the same secret on
// every install, upgrade and dry run (docs/secrets.md). A name is up to 128 letters, digits, '-', '_', '.' and '/'; each form of
// a secret needs a name of its own.

// Class is what a password may have to hold.
type Class string

// The classes of characters.
const (
	Lower  Class = "lower"
	Upper  Class = "upper"
	Digit  Class = "digit"
	Symbol Class = "symbol" // anything else in the alphabet
)

// PasswordOptions may each be left out.
type PasswordOptions struct {
	// Length is 4 to 1024; 24 if not given.
	Length int
	// Alphabet holds at least two characters from '!' to '~', each once; letters and digits if not given.
	Alphabet string
	// Require demands at least one character of each class; the alphabet must have them.
	Require []Class
}

// KeyPair is PEM (PKCS #8 and SubjectPublicKeyInfo).
type KeyPair struct {
	PrivateKey string
	PublicKey  string
}

// Password is one of 24 letters and digits.
func Password(name string) (string, error) { return PasswordWith(name, PasswordOptions{}) }

// PasswordWith is one with options.
func PasswordWith(name string, options PasswordOptions) (string, error) {
	request := map[string]any{}
	if options.Length != 0 {
		request["length"] = options.Length
	}
	if options.Alphabet != "" {
		request["alphabet"] = options.Alphabet
	}
	if options.Require != nil {
		request["require"] = options.Require
	}
	value, err := secret("password", name, request)
	return value.PrivateKey, err
}

// Alphanumeric is length letters and digits (4 to 1024).
func Alphanumeric(name string, length int) (string, error) {
	return ofLength("alphanumeric", name, length)
}

// Hex is length lower-case hexadecimal digits (4 to 1024).
func Hex(name string, length int) (string, error) { return ofLength("hex", name, length) }

// Base64 is length random bytes (4 to 1024), as text in base64.
func Base64(name string, length int) (string, error) { return ofLength("base64", name, length) }

// UUID is a random one (version 4).
func UUID(name string) (string, error) {
	value, err := secret("uuid", name, map[string]any{})
	return value.PrivateKey, err
}

// Ed25519 is a key pair; not in native tests.
func Ed25519(name string) (KeyPair, error) { return secret("ed25519", name, map[string]any{}) }

// ECDSA is a key pair on P-256; not in native tests.
func ECDSA(name string) (KeyPair, error) { return secret("ecdsa", name, map[string]any{}) }

func ofLength(kind, name string, length int) (string, error) {
	value, err := secret(kind, name, map[string]any{"length": length})
	return value.PrivateKey, err
}

func secret(kind, name string, request map[string]any) (KeyPair, error) {
	request["op"], request["name"], request["kind"] = "secret.get", name, kind
	var answer struct{ Value, PublicKey string }
	err := ask(request, &answer)
	return KeyPair{answer.Value, answer.PublicKey}, err
}
