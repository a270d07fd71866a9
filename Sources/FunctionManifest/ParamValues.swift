/// The values available to one function: its bundle's params, and the secrets it declares.
///
/// The description contains names only, so that no value is logged by accident.
package struct ParamValues: Equatable, Sendable, CustomStringConvertible, CustomReflectable {
    package var function: String
    package var values: [String: ParamValue]
    package var secrets: [String: String]

    package init(function: String, values: [String: ParamValue] = [:], secrets: [String: String] = [:]) {
        self.function = function
        self.values = values
        self.secrets = secrets
    }

    package var description: String {
        "params \(values.keys.sorted()) and secrets \(secrets.keys.sorted()) of \(function)"
    }

    package var customMirror: Mirror { Mirror(self, children: []) }
}

extension ParamValues {
    /// The values available to one function: all params, and the secrets it declares.
    package init(of function: FunctionManifest, values: [String: ParamValue], secrets: [String: String]) {
        let declared = Set(function.secrets)
        self.init(function: function.name, values: values, secrets: secrets.filter { declared.contains($0.key) })
    }
}
