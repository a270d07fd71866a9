public import Logging

/// The logger of the current invocation: its lines carry the function and the execution, and the host keeps them.
///
///     logger.info("sold", metadata: ["order": "\(order.id)", "price": "\(order.price)"])
///
/// The same as a request's or an event's `logger`, for code that has neither. Levels below `info` are logged only
/// if the operator asks for them. Outside of an invocation, such as in a bundle's `init`, the lines carry the function alone.
public var logger: Logger { InvocationContext.current?.logger ?? Logger(label: "functions") }
