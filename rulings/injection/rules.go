package injection

import (
	"crypto/sha256"
	"slices"
	"sync"
	"unicode"
)

// MaxFindings is how many findings of one rule Scan returns. The bound is for each
// rule, so that many matches of one do not hide that another matched.
const MaxFindings = 8

// RuleText is the whole rule text, from which the matcher is compiled.
func RuleText() string { return ruleText }

// Digest is the SHA-256 of RuleText.
func Digest() [32]byte { return sha256.Sum256([]byte(ruleText)) }

// Blind names what the rules cannot see. A page without a finding is clean under
// these rules, and the record of it says what that leaves out (O43).
func Blind() []string { return slices.Clone(blind) }

var blind = []string{
	"paraphrase: wording that is not in the rules",
	"languages other than English",
	"text in images, audio, video and embedded documents",
	"text that is encoded, encrypted or spelled otherwise: base64, look-alike letters, misspelling, letters set apart",
	"words with punctuation, digits, markup or invisible characters in or between them",
	"instructions spread over several inputs, or beyond the distances the rules allow",
	"text that a script or style sheet makes visible",
	"invisible characters behind a black flag, U+1F3F4, and in shorter runs than the rules name",
	"Markdown images by reference, and queries without a bracketed placeholder",
}

// ruleText holds, line by line: comments (#), the kinds of character (is), and the
// rules: number, category, grammar and what the grammar takes. A change here is a
// change of the digest.
const ruleText = `# wayleave-injection/1
#
# A word is a run of letters, apostrophes and hyphens. It is compared without those
# of the latter two that stand at its ends, which quote or join it; ASCII letters
# without regard to case, all apostrophes as one. In a match white space and nothing
# else stands between two words. A match begins and ends with a word.
# \xNN is an octet that is not part of valid UTF-8, as older character sets have it.
is apostrophe U+0027 U+2018 U+2019 U+02BC \x91 \x92
is hyphen U+002D U+2010 U+2011
is letter L M \xC0-\xFF
is space White_Space \xA0
is break U+000A-U+000D U+0085 U+2028 U+2029
# Letter, mark and white space are those of this version.
unicode ` + unicode.Version + `
#
# Of matches of one rule the one counts whose last word begins first, and of these the
# longest; the next begins behind it. At most 8 of each rule are reported.
#
# Patterns of words: a/b either; (a b) both, in this order; [a] or not; a+ one to
# three; ‹n› up to n words, whichever; a* a, or its plural with s; a, and a: the word
# with that character right behind it; @ a mail address behind white space, as the PII
# detector reads it; …n up to n characters without a line break, counted from the last
# place where what is before it ended.
IS1 override words ignore/disregard/forget/discard/override ‹3› previous/prior/earlier/preceding/above/foregoing/original/initial ‹2› instruction*/prompt*/directive*/directions/guidelines
IS2 override words ignore/disregard/forget [all [of]] your/(the system) ‹2› instruction*/prompt*/programming/guidelines/directive*/restriction*
IS3 override words ignore/disregard/forget everything [written/said/stated/(you were told)/(you have been told)] above/(before this)/(up to now/here/this)
IS4 persona words (you are)/you're now/(no longer) [a/an ‹3›] unrestricted/unfiltered/uncensored/jailbroken/assistant*/chatbot*/(language model*)/ai*/persona*/interpreter*
IS5 persona words from now on/on, you will/must/shall/should/only/(are to) ‹2› act/answer/respond/reply/behave/speak/obey/pretend/operate
IS6 persona words act/behave/respond/answer/reply as (if/though you are/were/have/had)/a/an ‹3› unrestricted/unfiltered/uncensored/jailbroken/(no rules/restrictions/limits/guidelines/filters)
IS7 disclosure words reveal/print/show/output/repeat/display/disclose/leak/reproduce/quote/recite/give/tell/send ‹3› your (full/entire/exact/complete/original/initial/hidden/secret/system/developer/internal)+ prompt*/instruction*/message*/rules/guidelines/configuration*
IS8 disclosure words repeat/reveal/print/output/recite/reproduce ‹3› text*/words/everything/prompt*/instructions ‹2› above ‹3› verbatim/(word for word)
IS9 addressed words if/as/since/because/when (you are)/you're a/an/the ‹2› ai/llm/(language model)/chatbot/assistant/agent …240 ignore/disregard/secretly/silently/((do not)/don't/never/without tell/telling/mention/mentioning/inform/informing/reveal/revealing/alert/alerting/ask/asking)/password*/credential*/(api key*)/(private key*)/(environment variable*)
IS10 addressed words (do not)/don't/never tell/inform/alert/notify the user*/human*/operator* about/that/this/anything/what
IS11 exfiltration words send/post/upload/forward/email/exfiltrate/transmit/leak/append/submit ‹4› conversation*/(chat history)/(message history)/(system prompt*)/(user's/human's ‹2› data/file*/message*/email*/password*/credential*/secret*/token*/key*) ‹6› to/at/via ‹3› http:/https:/url*/webhook*/@
#
# image: ![ up to its own ] in the paragraph, then ( and an address with a query, a value
# of which begins with one of these; up to the bracket that closes it in its line. Of more
# than 32 open brackets the outermost are forgotten.
IS12 exfiltration image { [ < ${ %7B
# markers: ASCII letters without regard to case. _ is 1 to 64 ASCII letters, digits, _ - and ';
# before a word that follows there may be white space; a…b stands in one line.
IS13 template markers <|_|>system <|_|>developer <|system|> <|developer|> <<SYS>> [INST]…[/INST]
# run: that many of these characters or more in a row, all there are, unless what
# follows "not" stands right before them.
IS14 invisible run 8 U+E0000-U+E007F not U+1F3F4
IS15 invisible run 16 U+200B-U+200D U+2060 U+FEFF
`

// compiled is the matcher of ruleText, made at the first use.
var compiled = sync.OnceValue(func() *screen { return compile(ruleText) })
