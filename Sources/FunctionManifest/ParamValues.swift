/// The values that one function may read: its bundle's params, and those secrets that it declares.
///
/// Printed it shows names alone, so that no value gets into a log by accident.
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
    /// What one function may read: all params, and those secrets that it declares.
    package init(of function: FunctionManifest, values: [String: ParamValue], secrets: [String: String]) {
        let declared = Set(function.secrets)
        self.init(function: function.name, values: values, secrets: secrets.filter { declared.contains($0.key) })
    }
}
