/// An error that ends the host or a command. Its description is a sentence for the operator.
package struct HostError: Error, Equatable, CustomStringConvertible {
    package var description: String
    package init(_ description: String) { self.description = description }
}
