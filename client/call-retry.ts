import { status, type Interceptor } from '@grpc/grpc-js';
import { makeGrpcRetryInterceptor } from '@temporalio/client';
import { messageOf } from './outcome';

type Call = ReturnType<Parameters<Interceptor>[1]>;

/**
 * Sends a call that failed again, by the SDK's own interceptor. A call whose next try comes after its connection
 * closed ends as cancelled: the closed channel would throw, from a timer, where nobody can catch it.
 */
export function retryUntilClosed(options: Parameters<typeof makeGrpcRetryInterceptor>[0]): Interceptor {
  const retry = makeGrpcRetryInterceptor(options);
  return (callOptions, nextCall) =>
    retry(callOptions, (nextOptions) => {
      try {
        return nextCall(nextOptions);
      } catch (error) {
        return cancelledCall(messageOf(error));
      }
    });
}

/** A call that sends nothing and is answered with a status only. */
function cancelledCall(details: string): Call {
  const nothing = () => undefined;
  return {
    start: (metadata, listener) => {
      queueMicrotask(() => {
        listener?.onReceiveMessage?.(null);
        listener?.onReceiveStatus?.({ code: status.CANCELLED, details, metadata });
      });
    },
    sendMessage: nothing,
    sendMessageWithContext: nothing,
    startRead: nothing,
    halfClose: nothing,
    cancelWithStatus: nothing,
    getPeer: () => '',
    getAuthContext: () => null,
  };
}
