# mime - take a MIME message apart: DIR/1.type, DIR/1.encoding, DIR/1.body and
# so on, a number a part.  Parts of a part that is a message are counted, too.
#
#	awk -v dir=DIR -f mime.awk MESSAGE
BEGIN { state = "head"; depth = 0; n = 0 }

{ sub(/\r$/, "") }

/^--/ {
	for (i = depth; i > 0; i--) {
		if ($0 == "--" boundary[i]) {
			depth = i
			state = "head"
			split("", head)
			last = ""
			next
		}
		if ($0 == "--" boundary[i] "--") {
			depth = i - 1
			state = "between"
			next
		}
	}
}

state == "head" && $0 == "" {
	type = word(head["content-type"])
	if (type ~ /^multipart\//) {
		boundary[++depth] = parameter(head["content-type"], "boundary")
		state = "between"
		next
	}
	state = "body"
	file = dir "/" sprintf("%03d", ++n)
	print type >(file ".type")
	close(file ".type")
	print word(head["content-transfer-encoding"]) >(file ".encoding")
	close(file ".encoding")
	printf "" >(file ".body")
	next
}

state == "head" && /^[ \t]/ {
	head[last] = head[last] $0
	next
}

state == "head" {
	at = index($0, ":")
	last = tolower(substr($0, 1, at - 1))
	head[last] = substr($0, at + 1)
	next
}

state == "body" { print >(file ".body") }

# The value before its parameters, in small letters.
function word(value) {
	sub(/;.*/, "", value)
	gsub(/[ \t]/, "", value)
	return tolower(value)
}

function parameter(value, name,    at) {
	at = index(tolower(value), name "=")
	if (!at)
		return ""
	value = substr(value, at + length(name) + 1)
	if (value ~ /^"/)
		return substr(value, 2, index(substr(value, 2), "\"") - 1)
	sub(/[; \t].*/, "", value)
	return value
}
