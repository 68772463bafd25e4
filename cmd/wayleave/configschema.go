package main

import (
	"encoding/json"
	"strings"
)

// schemaURL is where editors find the schema of the latest release.
const schemaURL = "https://raw.githubusercontent.com/wayleave/wayleave/main/docs/wayleave.schema.json"

// A schema is a JSON Schema, or a part of one.
type schema map[string]any

// configSchema describes the configuration file to an editor, from the table that
// the file is read by. It says what has which shape; whether a value makes sense
// beyond that, only loading tells.
func configSchema() schema {
	root := sectionSchema("")
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["$id"] = schemaURL
	root["title"] = "Configuration of wayleave"
	return root
}

// schemaText is the schema as a file.
func schemaText() []byte {
	text, err := json.MarshalIndent(configSchema(), "", "  ")
	if err != nil {
		panic("wayleave: encoding the schema: " + err.Error()) // of strings, numbers and lists
	}
	return append(text, '\n')
}

// sectionSchema describes a mapping of the file that holds keys. One of which all
// keys are commented out is null.
func sectionSchema(section string) schema {
	properties := schema{}
	for _, name := range knownUnder(section) {
		path := join(section, name)
		if key := findKey(path); key != nil {
			properties[name] = key.schema()
		} else {
			properties[name] = sectionSchema(path)
		}
	}
	return schema{"type": []string{"object", "null"}, "properties": properties, "additionalProperties": false}
}

func (k *configKey) schema() schema {
	s := k.shape.schema()
	s["description"] = k.doc
	if k.def != "" {
		s["default"] = k.defaultValue()
	}
	return s
}

// defaultValue is the default as it would stand in the file.
func (k *configKey) defaultValue() any {
	switch k.form {
	case formBool:
		return k.def == "true"
	case formList:
		return strings.Split(k.def, ",")
	case formCount:
		return json.Number(k.def)
	case formPorts:
		var ports []any
		for p := range strings.SplitSeq(k.def, ",") {
			ports = append(ports, json.Number(p))
		}
		return ports
	}
	return k.def
}

// schema describes a value.
func (s *shape) schema() schema {
	s = s.resolved()
	text := schema{"type": "string"}
	if s.words != nil {
		text["enum"] = s.words
	}
	switch s.form {
	case formBool:
		return schema{"type": "boolean"}
	case formCount:
		return schema{"type": "integer", "minimum": 1}
	case formDuration:
		return schema{"type": "string", "pattern": `^([0-9]+(\.[0-9]*)?(ns|us|µs|μs|ms|s|m|h))+$|^0$`}
	case formSize:
		return oneSchema(schema{"type": "integer", "minimum": 1}, schema{"type": "string", "pattern": "^[0-9]+(" + units("|") + ")$"})
	case formMoney:
		return schema{"type": "string", "pattern": `^[0-9]{1,12}(\.[0-9]{1,6})?$`}
	case formList:
		return s.listSchema(text)
	case formPorts:
		return s.listSchema(oneSchema(schema{"type": "integer", "minimum": 1, "maximum": 65535}, text))
	case formOneOrMany:
		return oneSchema(text, s.listSchema(text))
	case formMapping:
		if s.words != nil {
			return oneSchema(text, mappingSchema(s.members))
		}
		return mappingSchema(s.members)
	case formRecords:
		if s.short != "" {
			return s.listSchema(oneSchema(text, mappingSchema(s.members)))
		}
		return s.listSchema(mappingSchema(s.members))
	}
	return text
}

func (s *shape) listSchema(items schema) schema {
	list := schema{"type": "array", "items": items}
	if s.filled {
		list["minItems"] = 1
	}
	return list
}

func oneSchema(of ...schema) schema { return schema{"oneOf": of} }

func mappingSchema(members []member) schema {
	properties, required := schema{}, []string{}
	for i := range members {
		m := &members[i]
		s := m.shape.schema()
		s["description"] = m.doc
		properties[m.name] = s
		if !m.optional {
			required = append(required, m.name)
		}
	}
	s := schema{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

// units joins the units of a size.
func units(by string) string {
	names := make([]string, len(sizeUnits))
	for i, u := range sizeUnits {
		names[i] = u.name
	}
	return strings.Join(names, by)
}
