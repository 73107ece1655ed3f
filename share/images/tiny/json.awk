# json - take a JSON text apart: each value goes to a file of its own below
# DIR, called after the way to it, as in "write_files.0.path".
#
#	awk -v dir=DIR -f json.awk TEXT
#
# Between two quotes there is a string or there is not: so records end at them.
BEGIN { RS = "\""; depth = 0; wants_key = 0 }

inside {
	# The quote belonged to the string when it follows a lone backslash.
	if (match($0, /\\+$/) && RLENGTH % 2) {
		held = held $0 "\""
		next
	}
	string(held $0)
	held = ""
	inside = 0
	next
}

{
	between($0)
	inside = 1
}

function string(text) {
	if (!wants_key)
		return write(unescape(text))
	gsub(/[^A-Za-z0-9_-]/, "_", text)
	name[depth] = text
}

function between(text,    at, c, word) {
	gsub(/[ \t\r\n]/, "", text)
	for (at = 1; at <= length(text) + 1; at++) {
		c = substr(text, at, 1)
		if (c != "" && index("{}[],:", c) == 0) {
			word = word c
			continue
		}
		if (word != "" && word != "null")
			write(word)
		word = ""
		if (c == "{" || c == "[") {
			kind[++depth] = c
			name[depth] = 0
			wants_key = c == "{"
		} else if (c == "}" || c == "]") {
			depth--
			wants_key = 0
		} else if (c == ",") {
			if (kind[depth] == "[")
				name[depth]++
			wants_key = kind[depth] == "{"
		} else if (c == ":") {
			wants_key = 0
		}
	}
}

function write(value,    path, i) {
	path = dir "/" name[1]
	for (i = 2; i <= depth; i++)
		path = path "." name[i]
	printf "%s", value >path
	close(path)
}

function unescape(text,    out, at, c) {
	while (at = index(text, "\\")) {
		out = out substr(text, 1, at - 1)
		c = substr(text, at + 1, 1)
		text = substr(text, at + 2)
		if (c == "u") {
			out = out utf8(number(substr(text, 1, 4)))
			text = substr(text, 5)
		} else {
			out = out (c in escapes ? escapes[c] : c)
		}
	}
	return out text
}

BEGIN {
	escapes["n"] = "\n"; escapes["t"] = "\t"; escapes["r"] = "\r"
	escapes["b"] = "\b"; escapes["f"] = "\f"
}

function number(hex,    i, n) {
	for (i = 1; i <= length(hex); i++)
		n = n * 16 + index("0123456789abcdef", \
			tolower(substr(hex, i, 1))) - 1
	return n
}

function utf8(code) {
	if (code < 128)
		return sprintf("%c", code)
	if (code < 2048)
		return sprintf("%c%c", 192 + int(code / 64), 128 + code % 64)
	return sprintf("%c%c%c", 224 + int(code / 4096), \
		128 + int(code / 64) % 64, 128 + code % 64)
}
