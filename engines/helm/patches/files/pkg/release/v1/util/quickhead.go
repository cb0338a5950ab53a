package util

import (
	"strings"
	"unicode/utf8"
)

// quickHead reads the head of a document that is written as nearly all manifests are: block mappings and sequences,
// scalars and collections in brackets on one line, literal blocks. It returns false, and head may be half filled, for whatever else there is in
// YAML, and for whatever isn't YAML: then somebody else has to read the document. When it returns true, sigs.k8s.io/yaml
// reads the document without an error and finds the same head.
func quickHead(text string, head *SimpleHead) bool {
	r := quickReader{head: head, text: text}
	for r.next() {
		if !r.line() {
			return false
		}
	}
	return len(r.levels) > 0 && r.settled()
}

// quickReader goes through a document line by line. Each open collection is a level; what the document may go on with
// follows from these, and from whether the last line was a key without a value.
type quickReader struct {
	head   *SimpleHead
	text   string // what is left
	now    string // the line without its indentation and trailing spaces
	indent int    // of now
	levels []quickLevel
	key    string // the last one
	open   bool   // it has no value yet: a collection may follow, else it is null
	place  quickPlace
	seen   [quickPlaces]bool // head's members that have been there
}

type quickLevel struct {
	indent   int
	sequence bool
	place    quickPlace // whose members these are
}

// quickPlace is where in a document a value is, as far as a head has to know.
type quickPlace int

const (
	elsewhere quickPlace = iota
	atAPIVersion
	atKind
	atMetadata
	atName
	atAnnotations
	atAnnotation
	atRoot
	quickPlaces
)

// quickDepth is how many levels may be open; libyaml has a limit too, far beyond.
const quickDepth = 1000

// next goes to the next line.
func (r *quickReader) next() bool {
	if r.text == "" {
		return false
	}
	r.now, r.text, _ = strings.Cut(r.text, "\n")
	r.indent = leadingSpaces(r.now)
	r.now = strings.TrimRight(r.now[r.indent:], " ")
	return true
}

func (r *quickReader) line() bool {
	if r.now == "" {
		return true
	}
	if !quickText(r.now) {
		return false
	}
	if r.now[0] == '#' {
		return true
	}
	if strings.IndexByte(r.now, '\t') >= 0 {
		return false
	}
	return r.arrive() && r.content()
}

// arrive closes the levels that end before this line, and opens the one that it begins.
func (r *quickReader) arrive() bool {
	item := isItem(r.now)
	if len(r.levels) == 0 {
		r.levels = append(r.levels, quickLevel{r.indent, item, atRoot})
		return !item
	}
	if r.open {
		if top := r.levels[len(r.levels)-1]; r.indent > top.indent || item && r.indent == top.indent {
			isMember := r.place == atMetadata || r.place == atAnnotations
			if r.place != elsewhere && (item || !isMember) || len(r.levels) == quickDepth {
				return false
			}
			r.open = false
			r.levels = append(r.levels, quickLevel{r.indent, item, r.place})
			return true
		}
		if !r.settled() {
			return false
		}
		r.open = false
	}
	for len(r.levels) > 0 {
		top := r.levels[len(r.levels)-1]
		if top.indent == r.indent && top.sequence == item {
			return true
		}
		// A sequence may stand as far in as the key that it belongs to.
		if top.indent < r.indent || top.indent == r.indent && !top.sequence {
			return false
		}
		r.levels = r.levels[:len(r.levels)-1]
	}
	return false
}

// settled is false if a member of the head is null.
func (r *quickReader) settled() bool { return !r.open || r.place == elsewhere }

// content reads what the line has on its level.
func (r *quickReader) content() bool {
	for isItem(r.now) {
		spaces := 1 + leadingSpaces(r.now[1:])
		if spaces == len(r.now) {
			return false
		}
		sequence := r.levels[len(r.levels)-1]
		if len(r.levels) == quickDepth {
			return false
		}
		r.now = r.now[spaces:]
		key, _, isPair := quickKey(r.now)
		switch {
		case isItem(r.now):
			r.indent += spaces
			r.levels = append(r.levels, quickLevel{r.indent, true, elsewhere})
		case isPair && key != "":
			r.indent += spaces
			r.levels = append(r.levels, quickLevel{r.indent, false, elsewhere})
		default:
			r.place = elsewhere
			return !isPair && r.value(r.now, sequence.indent)
		}
	}
	key, value, isPair := quickKey(r.now)
	if !isPair || key == "" {
		return false
	}
	level := r.levels[len(r.levels)-1]
	if r.key = key; !r.enter(level.place) {
		return false
	}
	if value == "" {
		r.open = true
		return true
	}
	return r.value(value, level.indent)
}

// enter notes which value comes, or returns false if a head has something to say about the key that only its own
// reader knows.
func (r *quickReader) enter(within quickPlace) bool {
	r.place = elsewhere
	switch within {
	case atRoot:
		return r.member("apiVersion", atAPIVersion) && r.member("kind", atKind) && r.member("metadata", atMetadata)
	case atMetadata:
		return r.member("name", atName) && r.member("annotations", atAnnotations)
	case atAnnotations:
		r.place = atAnnotation
	}
	return true
}

// member notes that the key is that member of the head; another key that differs only in case is JSON's to judge.
func (r *quickReader) member(name string, place quickPlace) bool {
	if r.key != name {
		return !strings.EqualFold(r.key, name)
	}
	if r.seen[place] {
		return false
	}
	r.seen[place], r.place = true, place
	if place == atMetadata {
		r.head.Metadata = &struct {
			Name        string            `json:"name"`
			Annotations map[string]string `json:"annotations"`
		}{}
	}
	if place == atAnnotations {
		r.head.Metadata.Annotations = map[string]string{}
	}
	return true
}

// value reads the value of a key or an item; parent is how far in the collection is that it belongs to.
func (r *quickReader) value(text string, parent int) bool {
	r.open = false
	switch text {
	case "{}":
		return r.place == elsewhere || r.place == atAnnotations
	case "[]":
		return r.place == elsewhere
	case "|", "|-", "|+", ">", ">-", ">+":
		return r.place == elsewhere && r.block(parent)
	}
	if text[0] == '{' || text[0] == '[' {
		rest, ok := quickFlow(text, 0)
		return ok && rest == "" && r.place == elsewhere
	}
	scalar, isString, ok := quickScalar(text)
	if !ok || r.place == elsewhere {
		return ok
	}
	if !isString {
		return false
	}
	switch r.place {
	case atAPIVersion:
		r.head.Version = scalar
	case atKind:
		r.head.Kind = scalar
	case atName:
		r.head.Metadata.Name = scalar
	case atAnnotation:
		r.head.Metadata.Annotations[r.key] = scalar
	default:
		return false
	}
	return true
}

// block passes over the lines of a literal or folded block.
func (r *quickReader) block(parent int) bool {
	indent := -1
	for r.text != "" {
		line, rest, _ := strings.Cut(r.text, "\n")
		spaces := leadingSpaces(line)
		switch {
		case indent < 0 && line == "", indent >= 0 && spaces == len(line):
		case indent < 0:
			if spaces == len(line) || spaces <= parent || line[spaces] == '\t' {
				return false
			}
			indent = spaces
		case spaces < indent:
			return line[spaces] != '\t'
		}
		if !quickText(line) {
			return false
		}
		r.text = rest
	}
	return indent >= 0
}

// quickKey splits a line that is a key with or without a value. For a pair whose key isn't a simple string, the key is
// empty.
func quickKey(line string) (key, value string, isPair bool) {
	end := 0
	if line[0] == '{' || line[0] == '[' {
		return "", "", false
	}
	if quote := line[0]; quote == '"' || quote == '\'' {
		closing := strings.IndexByte(line[1:], quote)
		if closing < 0 {
			return "", "", false
		}
		end = closing + 2
		key = line[1 : end-1]
		if end == len(line) {
			return "", "", false
		}
		if line[end] != ':' || strings.IndexByte(key, '\\') >= 0 {
			return "", "", strings.Contains(line, ": ") || line[len(line)-1] == ':'
		}
	} else {
		end = strings.Index(line, ": ")
		if end < 0 {
			end = len(line) - 1
			if line[end] != ':' {
				return "", "", false
			}
		}
		key = line[:end]
		if key == "" || !isSimpleKey(key) {
			return "", "", true
		}
	}
	if len(key) > quickKeyLength || end+1 < len(line) && line[end+1] != ' ' {
		return "", "", true
	}
	return key, strings.TrimLeft(line[end+1:], " "), true
}

// quickScalar reads a scalar that is whole on its line. isString is false also where it may be one.
func quickScalar(text string) (scalar string, isString, ok bool) {
	first := text[0]
	if first == '"' || first == '\'' {
		end := len(text) - 1
		if end == 0 || text[end] != first {
			return "", false, false
		}
		inner := text[1:end]
		return inner, true, strings.IndexByte(inner, first) < 0 && (first == '\'' || strings.IndexByte(inner, '\\') < 0)
	}
	switch {
	case isLetter(first), isDigit(first), first == '/', first == '_', first == '$', first == '(', first >= utf8.RuneSelf:
	case isFlag(text):
	default:
		return "", false, false
	}
	if text[len(text)-1] == ':' || strings.Contains(text, ": ") || strings.Contains(text, " #") {
		return "", false, false
	}
	return text, isLetter(first) && !isReserved(text), true
}

// quickFlow reads a collection in brackets up to its end, and returns what is behind it.
func quickFlow(text string, depth int) (rest string, ok bool) {
	closing := byte(']')
	if text[0] == '{' {
		closing = '}'
	}
	for text = strings.TrimLeft(text[1:], " "); ; text = strings.TrimLeft(text[1:], " ") {
		if closing == '}' {
			if text, ok = quickFlowKey(text); !ok {
				return "", false
			}
		}
		if text == "" || depth == quickFlowDepth {
			return "", false
		}
		switch text[0] {
		case '{', '[':
			text, ok = quickFlow(text, depth+1)
		case '"', '\'':
			text, ok = quickQuoted(text)
		default:
			end := 0
			for end < len(text) && isFlowByte(text[end]) {
				end++
			}
			ok = end > 0 && (isLetter(text[0]) || isDigit(text[0]) || text[0] == '/' || isFlag(text))
			text = text[end:]
		}
		text = strings.TrimLeft(text, " ")
		if !ok || text == "" {
			return "", false
		}
		if text[0] == closing {
			return text[1:], true
		}
		if text[0] != ',' {
			return "", false
		}
	}
}

const quickFlowDepth = 20

// quickFlowKey reads a key and its colon.
func quickFlowKey(text string) (rest string, ok bool) {
	if text == "" {
		return "", false
	}
	if text[0] == '"' || text[0] == '\'' {
		rest, ok = quickQuoted(text)
		if !ok || len(text)-len(rest) > quickKeyLength || rest == "" || rest[0] != ':' {
			return "", false
		}
		return strings.TrimLeft(rest[1:], " "), true
	}
	end := strings.Index(text, ": ")
	if end <= 0 || end > quickKeyLength || !isSimpleKey(text[:end]) {
		return "", false
	}
	return strings.TrimLeft(text[end+1:], " "), true
}

// quickQuoted reads a string in quotes that has none of their escapes.
func quickQuoted(text string) (rest string, ok bool) {
	end := strings.IndexByte(text[1:], text[0]) + 1
	if end == 0 || text[0] == '"' && strings.IndexByte(text[:end], '\\') >= 0 {
		return "", false
	}
	rest = text[end+1:]
	return rest, rest == "" || rest[0] != '\'' && rest[0] != '"'
}

func isFlowByte(c byte) bool {
	return isLetter(c) || isDigit(c) || c == '-' || c == '_' || c == '.' || c == '/' || c == '%' || c == '$' || c == '+' || c == '='
}

// isSimpleKey is true for a key that is a string without being quoted.
func isSimpleKey(key string) bool {
	return isLetter(key[0]) && !strings.ContainsFunc(key, func(c rune) bool { return !isKeyRune(c) }) && !isReserved(key)
}

// quickKeyLength is how long a key may be; libyaml's limit is 1024 bytes.
const quickKeyLength = 256

// isReserved is true for whatever YAML 1.1 takes for a boolean or null that begins with a letter.
func isReserved(text string) bool {
	if len(text) > len("false") {
		return false
	}
	switch strings.ToLower(text) {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null":
		return true
	}
	return false
}

func isItem(line string) bool { return line[0] == '-' && (len(line) == 1 || line[1] == ' ') }

// isFlag is true for -x, --x and -1: plain scalars, though '-' begins an item.
func isFlag(text string) bool {
	return len(text) > 1 && text[0] == '-' && (isLetter(text[1]) || isDigit(text[1]) || text[1] == '-')
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

func isKeyRune(c rune) bool {
	return c < utf8.RuneSelf && (isLetter(byte(c)) || isDigit(byte(c)) || c == '-' || c == '_' || c == '.' || c == '/')
}

func leadingSpaces(text string) int {
	n := 0
	for n < len(text) && text[n] == ' ' {
		n++
	}
	return n
}

// quickText is true if every YAML reader takes these characters, and none of them for a line break. Tabs are the
// caller's.
func quickText(text string) bool {
	for i := 0; i < len(text); i++ {
		if c := text[i]; c >= utf8.RuneSelf {
			return quickRunes(text[i:])
		} else if c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

func quickRunes(text string) bool {
	for i, c := range text {
		switch {
		case c == utf8.RuneError:
			if _, size := utf8.DecodeRuneInString(text[i:]); size == 1 {
				return false
			}
		case c < ' ' && c != '\t', c >= 0x7f && c < 0xa0, c == 0x2028, c == 0x2029, c == 0xfeff, c > 0xfffd && c < 0x10000:
			return false
		}
	}
	return true
}
