import CFunctionsSystem
import Dispatch

/// Work that keeps a thread busy for some ms, one piece after the other. It gives way to what is short.
package final class LongWork: Sendable {
    private let queue: DispatchQueue

    package init(_ label: String) { queue = DispatchQueue(label: label, qos: .utility) }

    package func add(_ work: @escaping @Sendable () -> Void) {
        queue.async {
            functions_begin_long_work()
            work()
            functions_give_way()
            functions_end_long_work()
        }
    }
}
