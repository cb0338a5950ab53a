package mistletoe

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// The keys that come first in every mapping; order means nothing in YAML, so this serves the reader alone.
var leadingKeys = []string{"apiVersion", "kind", "name", "namespace", "metadata"}

// Words that some YAML reader takes for a boolean or null, in lower case.
var reservedWords = []string{"null", "true", "false", "yes", "no", "on", "off", "y", "n", "nan"}

type entry struct {
	key   string
	value any
}

// ToYAML writes value as one YAML document that ends with a line break: the same bytes as the SDKs of the other languages.
// Block style; apiVersion, kind, name, namespace, metadata first in each mapping, fields of structs in their order, keys of
// maps sorted. A string is plain only where YAML 1.1, YAML 1.2 and the resolvers of kubectl and Helm agree that it is one.
func ToYAML(value any) (string, error) {
	text, err := marshal(value)
	if err != nil {
		return "", err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	node, err := readNode(decoder)
	if err != nil {
		return "", err
	}
	var writer yamlWriter
	switch node := node.(type) {
	case []entry:
		if len(node) > 0 {
			writer.mapping(node, 0)
			return writer.String(), nil
		}
	case []any:
		if len(node) > 0 {
			writer.list(node, 0)
			return writer.String(), nil
		}
	}
	writer.inline(node, 0)
	return writer.String(), nil
}

// readNode keeps the order of members, which a map would lose.
func readNode(decoder *json.Decoder) (any, error) {
	token, err := decoder.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('['):
		list := []any{}
		for decoder.More() {
			item, err := readNode(decoder)
			if err != nil {
				return nil, err
			}
			list = append(list, item)
		}
		_, err = decoder.Token()
		return list, err
	case json.Delim('{'):
		mapping := []entry{}
		for decoder.More() {
			key, err := decoder.Token()
			if err != nil {
				return nil, err
			}
			value, err := readNode(decoder)
			if err != nil {
				return nil, err
			}
			mapping = append(mapping, entry{key.(string), value})
		}
		_, err = decoder.Token()
		slices.SortStableFunc(mapping, func(a, b entry) int { return rank(a.key) - rank(b.key) })
		return mapping, err
	}
	return token, nil
}

func rank(key string) int {
	if at := slices.Index(leadingKeys, key); at >= 0 {
		return at
	}
	return len(leadingKeys)
}

type yamlWriter struct{ strings.Builder }

func (w *yamlWriter) mapping(entries []entry, indent int) {
	for i, each := range entries {
		if i > 0 {
			w.indent(indent)
		}
		w.text(each.key)
		w.WriteByte(':')
		switch value := each.value.(type) {
		case []entry:
			if len(value) > 0 {
				w.WriteByte('\n')
				w.indent(indent + 2)
				w.mapping(value, indent+2)
				continue
			}
		case []any:
			if len(value) > 0 {
				w.WriteByte('\n')
				w.indent(indent)
				w.list(value, indent)
				continue
			}
		}
		w.WriteByte(' ')
		w.inline(each.value, indent)
	}
}

func (w *yamlWriter) list(items []any, indent int) {
	for i, item := range items {
		if i > 0 {
			w.indent(indent)
		}
		w.WriteString("- ")
		switch value := item.(type) {
		case []entry:
			if len(value) > 0 {
				w.mapping(value, indent+2)
				continue
			}
		case []any:
			if len(value) > 0 {
				w.list(value, indent+2)
				continue
			}
		}
		w.inline(item, indent)
	}
}

// inline writes what starts on the current line, up to and with its line break.
func (w *yamlWriter) inline(node any, indent int) {
	switch node := node.(type) {
	case nil:
		w.WriteString("null")
	case string:
		if isLiteral(node) {
			w.literal(node, indent+2)
			return
		}
		w.text(node)
	case []any:
		w.WriteString("[]")
	case []entry:
		w.WriteString("{}")
	default: // bool, json.Number
		fmt.Fprint(w, node)
	}
	w.WriteByte('\n')
}

func (w *yamlWriter) text(text string) {
	if isPlain(text) {
		w.WriteString(text)
	} else {
		w.WriteString(quoted(text))
	}
}

// literal writes a literal block (YAML 1.1, section 9.3.1); its chomping indicator keeps the line breaks at the end exact.
func (w *yamlWriter) literal(text string, indent int) {
	body := strings.TrimRight(text, "\n")
	breaks := len(text) - len(body)
	w.WriteString([]string{"|-", "|", "|+"}[min(breaks, 2)] + "\n")
	for line := range strings.SplitSeq(body, "\n") {
		if line != "" {
			w.indent(indent)
		}
		w.WriteString(line + "\n")
	}
	w.WriteString(strings.Repeat("\n", max(breaks-1, 0)))
}

func (w *yamlWriter) indent(indent int) { w.WriteString(strings.Repeat(" ", indent)) }

// isPlain tells whether every YAML reader takes the unquoted text for this very string.
func isPlain(text string) bool {
	return isPlainWords(text) || isQuantity(text)
}

func isPlainWords(text string) bool {
	if text == "" || !(isLetter(text[0]) || text[0] == '/') {
		return false
	}
	for i := range len(text) {
		if c := text[i]; !isLetter(c) && (c < '0' || c > '9') && !strings.ContainsRune(" -_./:@%+,=", rune(c)) {
			return false
		}
	}
	return !strings.Contains(text, ": ") && !strings.HasSuffix(text, " ") && !strings.HasSuffix(text, ":") &&
		!slices.Contains(reservedWords, strings.ToLower(text))
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// isQuantity tells whether text is a Kubernetes quantity with a suffix that no YAML number has, such as 250m or 64Mi.
func isQuantity(text string) bool {
	suffix := strings.TrimLeft(text, "0123456789")
	return len(suffix) < len(text) && slices.Contains([]string{"m", "k", "M", "G", "T", "P", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"}, suffix)
}

// isLiteral tells whether a literal block shows the text exactly; its first line decides the indentation, so it can't be blank.
func isLiteral(text string) bool {
	if !strings.Contains(strings.TrimRight(text, "\n"), "\n") {
		return false
	}
	for i, c := range text {
		if i == 0 && unicode.IsSpace(c) {
			return false
		}
		if unicode.IsControl(c) && c != '\n' && c != '\t' || needsEscape(c) {
			return false
		}
	}
	return true
}

// needsEscape tells whether YAML 1.1 (section 5.1) counts c as not printable or as a line break.
func needsEscape(c rune) bool {
	return c >= 0x7f && c <= 0x9f || c == 0x2028 || c == 0x2029 || c == 0xfeff || c == 0xfffe || c == 0xffff
}

// quoted is text as JSON that is YAML, too.
func quoted(text string) string {
	encoded, err := marshal(text)
	if err != nil {
		panic(err) // a string can always be written
	}
	return escaped(string(encoded))
}

// escaped is JSON without the characters that JSON allows in a string and YAML 1.1 doesn't, or folds as a line break.
func escaped(text string) string {
	var result strings.Builder
	for _, c := range text {
		if needsEscape(c) {
			fmt.Fprintf(&result, "\\u%04x", c)
		} else {
			result.WriteRune(c)
		}
	}
	return result.String()
}
