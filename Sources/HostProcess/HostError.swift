/// Why the host can't start or go on, in a sentence for its operator.
package struct HostError: Error, Equatable, CustomStringConvertible {
    package var description: String
    package init(_ description: String) { self.description = description }
}
